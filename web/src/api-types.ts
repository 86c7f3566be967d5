/** Made from the OpenAPI document by scripts/build-api-types.ts. A test compares. */

export type SessionList = { sessions: Array<SessionRow>; next: string | null }

export type SessionRow = {
  id: string
  policy: string
  model: string
  owner: string | null
  length: number
  createdAt: number
  updatedAt: number
  parent?: { id: string; seq: number }
  about: {
    client?: string
    project?: string
    title?: string
    parent?: string
    reason?: 'compaction' | 'rewind' | 'sub-agent' | 'fork'
    tags?: Array<string>
    carried?: number
    forkedAt?: number
    recorded?: true
    importedBy?: string
  }
  cacheTtl?: string
  cacheKept?: number
  overhead?: number
  ids?: number
  title: string
  live: boolean
  isOld: boolean
  isUntried: boolean
  summary: Summary | null
}

export type Summary = {
  title: string
  entries: number
  turns: number
  calls: number
  carried: number
  edits: number
  tokens: { raw: number; shown: number; window: number }
  sent: { raw: number; shown: number }
  money: {
    without: number
    with: number
    saved: number
    modelled: number
    estimated: number
    could?: number
  }
  series: { raw: Array<number>; shown: Array<number> }
  days: Array<{
    day: string
    calls: number
    billed: number
    saved: number
    could?: number
    input: number
    cacheRead: number
  }>
}

export type Families = { families: Array<Family>; next: string | null; found: number; sessions: number; billed: number }

export type Family = {
  id: string
  policy: string
  model: string
  owner: string | null
  length: number
  createdAt: number
  updatedAt: number
  parent?: { id: string; seq: number }
  about: {
    client?: string
    project?: string
    title?: string
    parent?: string
    reason?: 'compaction' | 'rewind' | 'sub-agent' | 'fork'
    tags?: Array<string>
    carried?: number
    forkedAt?: number
    recorded?: true
    importedBy?: string
  }
  cacheTtl?: string
  cacheKept?: number
  overhead?: number
  ids?: number
  title: string
  live: boolean
  isOld: boolean
  isUntried: boolean
  summary: Summary | null
  children: Array<SessionRow>
  total: {
    calls: number
    billed: number
    without: number
    saved: number
    could: number
    updatedAt: number
    known: boolean
  }
}

export type Overview = {
  days: Array<{ day: string; billed: number; saved: number; could: number; calls: number }>
  week: {
    billed: number
    saved: number
    could: number
    calls: number
    sessions: number
    input: number
    cacheRead: number
  }
  agents: Array<Named>
  projects: Array<Named>
  models: Array<Named>
  tags: Array<Named>
  sessions: number
  counted: number
  untried: number
  live: number
}

export type Named = { name: string; sessions: number }

export type Session = {
  id: string
  policy: string
  model: string
  owner: string | null
  length: number
  createdAt: number
  updatedAt: number
  parent?: { id: string; seq: number }
  about: {
    client?: string
    project?: string
    title?: string
    parent?: string
    reason?: 'compaction' | 'rewind' | 'sub-agent' | 'fork'
    tags?: Array<string>
    carried?: number
    forkedAt?: number
    recorded?: true
    importedBy?: string
  }
  cacheTtl?: string
  cacheKept?: number
  overhead?: number
  ids?: number
}

export type OwnSessions = {
  sessions: number
  agents: Array<{ agent: string; sessions: number }>
  last: { agent: string; at: number } | null
}

export type Deleted = { deleted: boolean; sessions: Array<{ session: string; events: number; updated_at: number }> }

export type SecretPlace = { event: number; type: string; entry?: number; part?: number; kind: string; hint: string }

export type Redacted = {
  redacted: boolean
  sessions: Array<{ session: string; kinds: Record<string, number> }>
  history?: Record<string, number>
}

export type MessageInput = 
  | {
      role: 'system'
      parts: Array<
        | { type: 'text'; text: string; original?: Original }
        | { type: 'reasoning'; text: string; original?: Original }
        | { type: 'image'; mediaType: string; data?: string; url?: string; original?: Original }
        | { type: 'raw'; provider: string; value: unknown; original?: Original }>
      at?: number
      original?: Original
    }
  | {
      role: 'user'
      parts: Array<
        | { type: 'text'; text: string; original?: Original }
        | { type: 'reasoning'; text: string; original?: Original }
        | { type: 'image'; mediaType: string; data?: string; url?: string; original?: Original }
        | { type: 'raw'; provider: string; value: unknown; original?: Original }>
      at?: number
      original?: Original
    }
  | {
      role: 'assistant'
      parts: Array<
        | { type: 'text'; text: string; original?: Original }
        | { type: 'reasoning'; text: string; original?: Original }
        | { type: 'image'; mediaType: string; data?: string; url?: string; original?: Original }
        | { type: 'raw'; provider: string; value: unknown; original?: Original }
        | { type: 'tool-call'; id: string; name: string; input: unknown; original?: Original }>
      at?: number
      original?: Original
    }
  | {
      role: 'tool'
      parts: Array<
        | { type: 'text'; text: string; original?: Original }
        | { type: 'reasoning'; text: string; original?: Original }
        | { type: 'image'; mediaType: string; data?: string; url?: string; original?: Original }
        | { type: 'raw'; provider: string; value: unknown; original?: Original }
        | {
            type: 'tool-result'
            id: string
            name: string
            output: 
              | string
              | Array<
                  | { type: 'text'; text: string; original?: Original }
                  | { type: 'reasoning'; text: string; original?: Original }
                  | { type: 'image'; mediaType: string; data?: string; url?: string; original?: Original }
                  | { type: 'raw'; provider: string; value: unknown; original?: Original }>
            isError?: boolean
            original?: Original
          }>
      at?: number
      original?: Original
    }

export type Original = {
  dialect: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini' | 'ai-sdk' | 'langchain'
  value: unknown
}

export type EntryPage = { entries: Array<Entry>; total: number; next: number | null }

export type Entry = {
  entry: number
  seq: number
  at: number
  message: Message
  shown?: Message | null
  edits: Array<string>
  pinned: boolean
}

export type Message = { role: Role; parts: Array<Part>; at?: number; original?: Original }

export type Role = 'system' | 'user' | 'assistant' | 'tool'

export type Part = 
  | { type: 'text'; text: string; original?: Original; edit?: string }
  | { type: 'reasoning'; text: string; original?: Original; edit?: string }
  | { type: 'tool-call'; id: string; name: string; input: unknown; original?: Original; edit?: string }
  | {
      type: 'tool-result'
      id: string
      name: string
      output: string | Array<Part>
      isError?: boolean
      original?: Original
      edit?: string
    }
  | {
      type: 'image'
      mediaType: string
      data?: string
      url?: string
      original?: Original
      edit?: string
    }
  | { type: 'raw'; provider: string; value: unknown; original?: Original; edit?: string }

export type View = {
  session: string
  messages: Array<Message>
  tokens: number
  edits: Array<Edit>
  pending: Array<{ saves: number; reason: string }>
  decision?: string
  waiting: Array<string>
  report: Array<Violation>
}

export type Edit = {
  id: string
  target: Target
  replacement: string | null | { messages: Array<Message> } | { input: unknown }
  by: string
  why: string
  saved: number
  mark?: string
}

export type Target = 
  | { type: 'entry'; entry: number }
  | { type: 'part'; entry: number; part: number; leaf?: number; span?: [number, number] }
  | { type: 'range'; from: number; to: number }
  | { type: 'after'; entry: number }

export type Violation = { rule: string; message: string }

export type EditState = {
  id: string
  target: Target
  replacement: string | null | { messages: Array<Message> } | { input: unknown }
  by: string
  why: string
  saved: number
  mark?: string
  active: boolean
  seq: number
}

export type ContextRequest = 
  | {
      action: 'discard' | 'replace'
      targets: Array<Array<string> | { start: string; end: string; replacement: string }>
    }
  | {
      action: 'distill'
      targets: Array<Array<string> | { start: string; end: string; replacement: string }>
    }

export type Hit = {
  entry: number
  part: number
  role: Role
  kind: PartType
  tool?: string
  inView: boolean
  hash: string
  tokens: number
  session: string
  snippet: string
  from: number
  to: number
  at: number
  hidden?: boolean
  copies?: number
}

export type PartType = 'text' | 'reasoning' | 'tool-call' | 'tool-result' | 'image' | 'raw'

export type Nearby = {
  entry: number
  part: number
  role: Role
  kind: PartType
  tool?: string
  inView: boolean
  hash: string
  tokens: number
  preview: string
}

export type Suggestion = {
  operation: { start: string; end: string; replacement: string }
  reason: string
  entry: number
  part: number
  tokens: number
}

export type FileChange = { turn: number; path: string; kind: 'write' | 'edit' | 'remove'; intent?: string }

export type FileState = { path: string; turn: number; content: string | null; basis: Array<string> }

export type ContextMap = {
  session: string
  length: number
  at: number | null
  time: number
  calls: number
  entries: number
  window: number
  marks: Array<number>
  overhead: number
  cached: number
  cold: boolean
  tokens: { raw: number; shown: number }
  scale: number
  bars: Array<Bar>
}

export type Bar = {
  entry: number
  part: number | null
  to: number
  parts: number
  role: Role
  type: string
  kind: string
  tool?: string
  label: string
  raw: number
  shown: number
  edits: Array<string>
  pinned: boolean
}

export type PartDetail = {
  session: string
  entry: number
  part: number
  role: Role
  at: number
  hash: string
  pinned: boolean
  inView: boolean
  original: Part
  shown: Part | null
  texts: { original: string; shown: string | null }
  tokens: { original: number; shown: number }
  instead: { edit: string; from: number; to: number; messages: Array<Message> } | null
  edits: Array<PartEdit>
}

export type PartEdit = {
  id: string
  target: Target
  replacement: string | null | { messages: Array<Message> } | { input: unknown }
  by: string
  why: string
  saved: number
  mark?: string
  active: boolean
  seq: number
  at: number
  call: number
  decision: string | null
  shows: boolean
}

export type Timeline = {
  session: string
  length: number
  calls: Array<TimelineCall>
  total: number
  next: number | null
  window: number
  overhead: number
}

export type TimelineCall = {
  call: number
  entry: number
  at: number
  model: string
  paid: { dollars: number; output: number; estimated: boolean }
  modelled: number
  inherited: boolean
  unanswered: boolean
  sent: CallSum
  raw: CallSum
  miss: { kind: LossCause; lost: number; cause: string } | null
  edits: { made: number; ids: Array<string>; saved: number; undone: Array<string> }
  decision: string | null
  reported: 
    | {
        input?: number
        cacheRead?: number
        cacheWrite?: number
        cacheWriteLong?: number
        output?: number
        searches?: number
        reasoning?: number
        model?: string
        id?: string
        tier?: string
        beside?: Array<{
          input?: number
          cacheRead?: number
          cacheWrite?: number
          cacheWriteLong?: number
          output?: number
          searches?: number
          reasoning?: number
          model?: string
          id?: string
          tier?: string
        }>
      }
    | null
}

export type CallSum = { tokens: number; cached: number; written: number; cost: number }

export type LossCause = 'edit' | 'pause' | 'client' | 'model' | 'server' | 'provider'

export type Turn = {
  turn: number
  entry: number
  to: number
  at: number
  ended: number
  title: string
  calls: number
  firstCall: number
  dollars: number
  saved: number
  tokens: number
  tools: number
  agents: number
  errors: number
  cacheLost: number
}

export type SubAgent = {
  session: string
  title: string
  at: number
  ended: number
  calls: number
  tokens: number
  tools: number
  dollars: number
  errors: number
}

export type Step = {
  call: number
  entry: number
  at: number
  dollars: number
  tokens: number
  cacheLost: boolean
  tools: Array<{
    entry: number
    part: number
    name: string
    about: string
    kind: string
    at: number
    tokens: number
    error: boolean
  }>
}

export type Why = {
  session: string
  billedUsd: number
  predictedUsd: number
  calls: Array<WhyCall>
  causes: Array<{
    cause: 'edit' | 'pause' | 'client' | 'model' | 'server' | 'provider' | 'start' | 'none'
    times: number
    lost: number
    extraUsd: number
    differenceUsd: number
  }>
  moments: Array<WhyCall>
  free: { coldCalls: number; edits: number; savedUsd: number; evidence: number } | null
}

export type WhyCall = {
  call: number
  at: number
  model: string
  predictedUsd: number
  billedUsd: number
  estimated: boolean
  differenceUsd: number
  cause: 'edit' | 'pause' | 'client' | 'model' | 'server' | 'provider' | 'start' | 'none'
  lost: number
  extraUsd: number
  text: string
}

export type Rent = {
  session: string
  dollars: number
  kind: Array<{ name: string; tokens: number; dollars: number; saved: number }>
  tool: Array<{ name: string; tokens: number; dollars: number; saved: number }>
  server: Array<{ name: string; tokens: number; dollars: number; saved: number }>
  file: Array<{ name: string; tokens: number; dollars: number; saved: number }>
  agent: Array<{ name: string; tokens: number; dollars: number; saved: number }>
  edit: Array<{ name: string; tokens: number; dollars: number; saved: number }>
}

export type Verdict = {
  billed: number
  without: number
  saved: number
  calls: number
  copied: number
  estimated: number
  assumed: Array<string>
  quotes: number
  lost: number
  cacheLost: Record<string, number>
  parts: Array<{
    part: 'read' | 'new' | 'output' | 'edit' | 'pause' | 'client' | 'model' | 'server' | 'provider'
    dollars: number
  }>
  edits: Array<{ id: string; dollars: number }>
}

export type Would = {
  policy: string
  dollars: number
  saved: number
  share: number
  evidence: number
  edits: number
  tokens: { raw: number; shown: number }
  bars: Array<Bar>
  list: Array<{
    id: string
    target: Target
    replacement: string | null | { messages: Array<Message> } | { input: unknown }
    by: string
    why: string
    saved: number
    mark?: string
    call: number
    dollars: number
  }>
}

export type Moment = {
  session: string
  tokens: number
  window: number
  edits: number
  saved: number
  cached: number | null
  isCold: boolean
  coldAt: number | null
  nextUsd: number
  parts: Array<PricedPart>
  free: Array<string>
  price: EditPrice | null
}

export type PricedPart = {
  id: string
  entry: number
  part: number
  kind: string
  tool: string | null
  tokens: number
  perCallUsd: number
  quotes: number | null
  preview: string
}

export type EditPrice = {
  ids: Array<string>
  tokens: number
  perCallUsd: number
  rewritten: number
  onceUsd: number
  paysAfter: number | null
  quotes: number
}

export type Dropped = {
  session: string
  before: string | null
  parts: Array<{ id: string; kind: string; tokens: number; preview: string }>
}

export type Pending = {
  session: string
  policy: string
  decision: string | null
  now: Array<HeldEdit>
  later: Array<HeldEdit>
  saves: { now: number; later: number }
}

export type HeldEdit = {
  policy: string
  from: number
  to: number
  part: number | null
  saves: number
  why: string
  reason: string | null
}

export type CompactPreview = {
  session: string
  from: number
  to: number
  narrowed: boolean
  text: string
  request: string | null
  tokens: { replaced: number; summary: number; saved: number }
  rewritten: number
  problem: string | null
}

export type Imported = {
  format: string
  import: string
  found: number
  sessions: Array<{ session: string; messages: number; added: number; healed: Array<string> }>
  problems: Array<{ line?: number; message: string }>
}

export type Costs = {
  policy: string
  calls: number
  tokens: number
  peak: number
  cost: number
  effective: number
  costShare: number
  effectiveShare: number
  evidence: number
  busts: number
  edits: number
  keep: string | null
  saved: number
  effectiveDollars: number
  dollars: number
  series: { tokens: Array<number>; cost: Array<number> }
  decisions: Array<{ call: number; edits: number; saved: number; text: string }>
}

export type Users = { users: Array<{ user: string; blocks: number; open: number }>; own: string }

export type PolicyInfo = { name: string; about: string }

export type Block = {
  user_id: string
  label: string
  title: string
  body: string
  schema_ref: string | null
  updated_at: number
  stale: Array<{ text: string; since?: string; replacedBy?: string }>
  version: string
}

export type BlockHit = { label: string; title: string; snippet: string }

export type Version = {
  version: string
  at: number
  by: string
  action: 'set' | 'delete' | 'approve' | 'reject' | 'revert' | 'restore' | 'import'
  why: string
  proposal: string | null
  title: string | null
  body: string | null
  commit: string | null
}

export type Proposal = {
  id: string
  user_id: string
  label: string
  kind: 'edit' | 'append' | 'prepend' | 'section' | 'new'
  base: { version: string; title: string; body: string } | null
  title: string
  body: string
  agent_id: string
  reasoning: string
  confidence: 'low' | 'medium' | 'high'
  entries: Array<{ session: string; entry: number; source?: 'user' | 'tool' }>
  created_at: number
  state: ProposalState
  decision: { at: number; by: string; why: string } | null
  branch: string | null
}

export type ProposalState = 'open' | 'approved' | 'rejected' | 'reverted'

export type Review = {
  proposal: Proposal
  block: Block | null
  merge: Merge
  duplicates: Array<{ label: string; text: string; proposal?: string; state?: ProposalState }>
  from_tools: boolean
  diff: Array<DiffPart>
  title_diff: Array<DiffPart>
  hidden: Array<{ char: string; name: string; count: number }>
  problem: string | null
}

export type Region = 
  | { type: 'settled'; text: string }
  | { type: 'conflict'; base: string; now: string; proposed: string }

export type Merge = 
  | { type: 'clean'; title: string; body: string; stale: boolean }
  | {
      type: 'conflict'
      title: string
      titles?: { base: string; now: string; proposed: string }
      regions: Array<Region>
      marked: string
    }
  | { type: 'deleted' }

export type DiffPart = { type: 'same' | 'added' | 'removed'; text: string }

export type Personas = {
  personas: Array<{
    name: string
    description: string
    model: string | null
    tools: Array<string> | null
    source: 'package' | 'home'
  }>
  chosen: string
  demo: boolean
}

export type Workspace = { folder: string; limit: number; files: Array<{ path: string; version: string; bytes: number }> }

export type WorkspaceFile = { path: string; text: string; version: string; bytes: number }

export type Token = {
  id: string
  user: string
  role: 'user' | 'agent' | 'admin'
  name: string
  created_at: number
  last_used_at: number | null
  revoked_at: number | null
}

export type Settings = {
  file: string | null
  settings: Array<Setting>
  keep: Record<string, number>
  models: Array<ModelRow>
  asOf: string
}

export type Setting = {
  key: string
  path: Array<string>
  value: unknown
  source: 'default' | 'file' | 'environment' | 'flag'
  from: string | null
  settable: boolean
}

export type ModelRow = {
  model: string
  sessions: number
  calls: number
  window: number
  largest: number
  input: number
  output: number
  read: number
  write: number
  ttl: number
  kept: number | null
  from: 'table' | 'file' | 'family'
}

export type KnobPoint = { keep: string; withoutUsd: number; savedUsd: number; kept: number; quotes: number }

export type Routes = {
  'GET /sessions': { query?: { limit?: number; cursor?: string; contains?: string }; answer: SessionList }
  'POST /sessions': {
    body?: {
      id?: string
      policy?: string
      model?: string
      overhead?: number
      owner?: string
      messages?: Array<MessageInput>
    }
    answer: Session
  }
  'GET /families': {
    query?: {
      limit?: number
      cursor?: string
      contains?: string
      agent?: string
      project?: string
      model?: string
      tag?: string
      from?: number
      to?: number
      sort?: 'used' | 'cost' | 'saved' | 'calls' | 'title'
      order?: 'up' | 'down'
    }
    answer: Families
  }
  'GET /overview': { answer: Overview }
  'PUT /sessions/{session}/title': { params: { session: string }; body: { title: string }; answer: Session }
  'PUT /sessions/{session}/tags': { params: { session: string }; body: { tags: Array<string> }; answer: Session }
  'GET /own-sessions': { answer: OwnSessions }
  'POST /own-sessions/last': { answer: { session: string } }
  'POST /deletions': {
    body: 
      | { sessions: Array<string>; preview?: boolean }
      | { before: number; preview?: boolean }
      | { import: string; preview?: boolean }
    answer: Deleted
  }
  'DELETE /users/{user}': { params: { user: string }; query?: { preview?: 'true' | 'false' }; answer: Deleted }
  'GET /sessions/{session}/secrets': { params: { session: string }; answer: { secrets: Array<SecretPlace> } }
  'POST /redactions': {
    body: 
      | { secrets: true; sessions?: Array<string>; preview?: boolean }
      | { text: string; sessions?: Array<string>; preview?: boolean }
      | { pattern: string; sessions?: Array<string>; preview?: boolean }
    answer: Redacted
  }
  'GET /sessions/{session}': { params: { session: string }; answer: Session }
  'POST /sessions/{session}/messages': {
    params: { session: string }
    body: { messages: Array<MessageInput> }
    answer: { entries: Array<number> }
  }
  'GET /sessions/{session}/entries': { params: { session: string }; query?: { limit?: number; cursor?: number }; answer: EntryPage }
  'GET /sessions/{session}/view': { params: { session: string }; answer: View }
  'POST /sessions/{session}/view': { params: { session: string }; body?: { plan?: boolean }; answer: View }
  'GET /sessions/{session}/explained': {
    params: { session: string }
    answer: {
      session: string
      slots: Array<{
        from: number
        to: number
        messages: Array<{ message: Message; tokens: number; ids: Array<string | null> }>
        tokens: number
        edits: Array<{ id: string; shows: boolean }>
        pinned: boolean
      }>
      tokens: number
      saved: number
    }
  }
  'GET /sessions/{session}/stats': {
    params: { session: string }
    answer: {
      session: string
      events: number
      entries: number
      calls: number
      tokens: { view: number; saved: number; window: number }
      edits: { active: number; undone: number; by: Array<{ by: string; edits: number; saved: number }> }
      usage: { reports: number; input: number; cacheRead: number; cacheWrite: number; output: number }
    }
  }
  'GET /sessions/{session}/edits': { params: { session: string }; answer: { edits: Array<EditState> } }
  'POST /sessions/{session}/edits': {
    params: { session: string }
    body: ContextRequest
    answer: {
      edits: Array<Edit>
      replacements: Array<{
        operation: unknown
        entry: number
        originalLength: number
        newLength: number
        tokensSaved: number
      }>
      tokensSaved: number
    }
  }
  'POST /sessions/{session}/edits/apply': {
    params: { session: string }
    body: {
      edits: Array<{
        target: Target
        replacement: string | null | { messages: Array<MessageInput> } | { input: unknown }
        why: string
      }>
    }
    answer: { edits: Array<Edit> }
  }
  'POST /sessions/{session}/edits/{edit}/undo': { params: { session: string; edit: string }; answer: EditState }
  'POST /sessions/{session}/edits/{edit}/redo': { params: { session: string; edit: string }; answer: EditState }
  'POST /sessions/{session}/pin': {
    params: { session: string }
    body: { entry: number; part?: number; on?: boolean }
    answer: { entry: number; part?: number; on: boolean }
  }
  'POST /sessions/{session}/restore': {
    params: { session: string }
    body: { id: string }
    answer: { entry: number; part: number; text: string; edit?: Edit }
  }
  'POST /sessions/{session}/fork': { params: { session: string }; body?: { at?: number; id?: string }; answer: Session }
  'GET /sessions/{session}/recall': {
    params: { session: string }
    query: {
      q: string
      limit?: number
      type?: string
      tool?: string
      path?: string
      since?: string
      until?: string
    }
    answer: { hits: Array<Hit> }
  }
  'GET /recall': {
    query: {
      q: string
      limit?: number
      type?: string
      tool?: string
      path?: string
      since?: string
      until?: string
      project?: string
      tag?: string
    }
    answer: { hits: Array<Hit>; behind: boolean }
  }
  'GET /sessions/{session}/around': {
    params: { session: string }
    query: { id: string; before?: number; after?: number }
    answer: { parts: Array<Nearby> }
  }
  'GET /sessions/{session}/original': {
    params: { session: string }
    query: { id: string }
    answer: { entry: number; part: number; text: string }
  }
  'GET /sessions/{session}/suggestions': {
    params: { session: string }
    query?: { limit?: number }
    answer: { suggestions: Array<Suggestion> }
  }
  'GET /sessions/{session}/parts': {
    params: { session: string }
    answer: {
      parts: Array<{
        hash: string
        entry: number
        part: number
        kind: string
        tool?: string
        tokens: number
        preview: string
      }>
    }
  }
  'GET /sessions/{session}/changelog': { params: { session: string }; answer: { changes: Array<FileChange>; text: string } }
  'GET /sessions/{session}/file': { params: { session: string }; query: { path: string; turn?: number }; answer: FileState }
  'GET /sessions/{session}/verify': {
    params: { session: string }
    answer: {
      ok: boolean
      events: number
      entries: number
      edits: number
      violations: Array<Violation>
      redacted?: Array<{ at: number; by: string; from: number; kinds: Record<string, number> }>
    }
  }
  'GET /sessions/{session}/map': { params: { session: string }; query?: { at?: number; max?: number }; answer: ContextMap }
  'GET /sessions/{session}/parts/{entry}/{part}': { params: { session: string; entry: number; part: number }; answer: PartDetail }
  'GET /sessions/{session}/summary': { params: { session: string }; answer: Summary }
  'GET /sessions/{session}/timeline': { params: { session: string }; query?: { from?: number; limit?: number }; answer: Timeline }
  'GET /sessions/{session}/turns': {
    params: { session: string }
    query?: { entry?: number }
    answer: { turns: Array<Turn>; agents: Array<SubAgent>; steps: Array<Step> }
  }
  'GET /sessions/{session}/share': { params: { session: string }; query?: { hide_names?: 'true' | 'false' }; answer: unknown }
  'GET /sessions/{session}/why': { params: { session: string }; query?: { free?: 'true' | 'false' }; answer: Why }
  'GET /sessions/{session}/rent': { params: { session: string }; answer: Rent }
  'GET /sessions/{session}/verdict': { params: { session: string }; answer: Verdict }
  'GET /sessions/{session}/would': { params: { session: string }; query?: { policy?: string; max?: number }; answer: Would }
  'GET /sessions/{session}/now': { params: { session: string }; query?: { drop?: string }; answer: Moment }
  'GET /sessions/{session}/dropped': { params: { session: string }; answer: Dropped }
  'POST /sessions/{session}/dropped': { params: { session: string }; body: { ids: Array<string> }; answer: { edits: Array<Edit> } }
  'GET /sessions/{session}/pending': { params: { session: string }; answer: Pending }
  'POST /sessions/{session}/compact/preview': {
    params: { session: string }
    body: { from: number; to: number; text?: string }
    answer: CompactPreview
  }
  'POST /sessions/{session}/compact': {
    params: { session: string }
    body: { from: number; to: number; text: string }
    answer: { edit: Edit }
  }
  'POST /import': {
    query?: { name?: string; file?: string; most?: number; written?: number; import?: string }
    answer: Imported
  }
  'POST /sessions/{session}/compare': {
    params: { session: string }
    body: { policies: Array<string>; model?: string; keep?: 'least' | 'less' | 'normal' | 'more' | 'most' }
    answer: { session: string; model: string; policies: Array<Costs> }
  }
  'POST /v1/compress': {
    body: { messages: Array<{ role: string; content?: unknown }>; model?: string }
    answer: {
      messages: Array<{ role: string; content?: unknown }>
      tokens_before: number
      tokens_after: number
      tokens_saved: number
      compression_ratio: number
      transforms_applied: Array<string>
      ccr_hashes: Array<string>
      session: string | null
    }
  }
  'GET /v1/retrieve/{hash}': {
    params: { hash: string }
    query?: { query?: string }
    answer: { hash: string; original_content: string; session: string; entry: number }
  }
  'GET /users': { answer: Users }
  'GET /policies': { answer: { policies: Array<PolicyInfo> } }
  'GET /users/{user}/blocks': {
    params: { user: string }
    query?: { limit?: number; cursor?: string }
    answer: { blocks: Array<Block>; next: string | null }
  }
  'GET /users/{user}/memory': {
    params: { user: string }
    query: { q: string; limit?: number }
    answer: { hits: Array<BlockHit> }
  }
  'GET /users/{user}/blocks/{label}': { params: { user: string; label: string }; answer: Block }
  'PUT /users/{user}/blocks/{label}': {
    params: { user: string; label: string }
    body: { body?: string; title?: string; schema_ref?: string | null; expected?: string; why?: string }
    answer: Block
  }
  'DELETE /users/{user}/blocks/{label}': {
    params: { user: string; label: string }
    query?: { expected?: string }
    answer: { deleted: string }
  }
  'GET /users/{user}/blocks/{label}/history': {
    params: { user: string; label: string }
    query?: { limit?: number; cursor?: string }
    answer: { versions: Array<Version>; next: string | null }
  }
  'POST /users/{user}/blocks/{label}/restore': { params: { user: string; label: string }; body: { version: string; why?: string }; answer: Block }
  'POST /users/{user}/blocks/{label}/propose': {
    params: { user: string; label: string }
    body: 
      | {
          title?: string
          reasoning: string
          confidence?: 'low' | 'medium' | 'high'
          agent_id?: string
          entries?: Array<{ session: string; entry: number }>
          body: string
        }
      | {
          title?: string
          reasoning: string
          confidence?: 'low' | 'medium' | 'high'
          agent_id?: string
          entries?: Array<{ session: string; entry: number }>
          old_string: string
          new_string: string
          replace_all?: boolean
        }
      | {
          title?: string
          reasoning: string
          confidence?: 'low' | 'medium' | 'high'
          agent_id?: string
          entries?: Array<{ session: string; entry: number }>
          append: string
        }
      | {
          title?: string
          reasoning: string
          confidence?: 'low' | 'medium' | 'high'
          agent_id?: string
          entries?: Array<{ session: string; entry: number }>
          prepend: string
        }
      | {
          title?: string
          reasoning: string
          confidence?: 'low' | 'medium' | 'high'
          agent_id?: string
          entries?: Array<{ session: string; entry: number }>
          section: string
          content: string
        }
    answer: Proposal
  }
  'GET /users/{user}/proposals': {
    params: { user: string }
    query?: { limit?: number; cursor?: string; state?: ProposalState; label?: string }
    answer: { proposals: Array<Proposal>; next: string | null }
  }
  'GET /users/{user}/proposals/{id}': { params: { user: string; id: string }; answer: Review }
  'POST /users/{user}/proposals/{id}/approve': {
    params: { user: string; id: string }
    body?: { body?: string; title?: string; seen?: string | null; why?: string }
    answer: { proposal: Proposal; block: Block | null }
  }
  'POST /users/{user}/proposals/{id}/reject': { params: { user: string; id: string }; body?: { why?: string }; answer: Proposal }
  'POST /users/{user}/proposals/{id}/revert': {
    params: { user: string; id: string }
    body?: { body?: string; why?: string }
    answer: { proposal: Proposal; block: Block | null }
  }
  'GET /agent/personas': { answer: Personas }
  'POST /agent/sessions/{session}/turns': { params: { session: string }; body: { text?: string; persona?: string }; answer: unknown }
  'GET /agent/sessions/{session}/turns': { params: { session: string }; answer: unknown }
  'POST /agent/sessions/{session}/approvals/{id}': {
    params: { session: string; id: string }
    body: { yes: boolean }
    answer: { id: string; yes: boolean }
  }
  'POST /agent/sessions/{session}/stop': { params: { session: string }; answer: { session: string; stopped: boolean } }
  'GET /events': { answer: unknown }
  'GET /workspace': { answer: Workspace }
  'POST /workspace': { answer: { made: Array<string> } }
  'GET /workspace/{file}': { params: { file: string }; answer: WorkspaceFile }
  'PUT /workspace/{file}': { params: { file: string }; body: { text: string; version: string | null }; answer: WorkspaceFile }
  'GET /me': {
    answer: { role: 'user' | 'agent' | 'admin'; user: string | null; name: string; token: string | null }
  }
  'GET /tokens': {
    query?: { limit?: number; cursor?: string }
    answer: { tokens: Array<Token>; next: string | null }
  }
  'POST /tokens': {
    body: { user: string; role: 'user' | 'agent' | 'admin'; name?: string }
    answer: {
      id: string
      user: string
      role: 'user' | 'agent' | 'admin'
      name: string
      created_at: number
      last_used_at: number | null
      revoked_at: number | null
      secret: string
    }
  }
  'DELETE /tokens/{token}': { params: { token: string }; answer: Token }
  'GET /settings': { answer: Settings }
  'PUT /settings': { body: { path: Array<string>; value: unknown }; answer: Settings }
  'GET /sessions/{session}/knob': { params: { session: string }; answer: { session: string; points: Array<KnobPoint> } }
}
