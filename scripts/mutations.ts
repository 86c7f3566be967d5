/**
 * The mutations that `npm run mutate` makes to a source file: conditions are negated, bounds moved by one, statements
 * and defaults removed. Texts and numbers are not changed: most texts are messages, and most numbers are sizes without
 * an exact right value. Returns that the types would refuse are left out too.
 */
import { parseSync } from 'vite'

/**
 * `start` and `end` are places in the source; `text` replaces what is between them. A test that executes `at` may
 * detect it.
 */
export type Mutation = { start: number; end: number; text: string; at?: number }

type Node = { type: string; start: number; end: number } & Record<string, unknown>

const OPERATORS: Record<string, readonly string[]> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
}

const METHODS: Record<string, string> = {
  some: 'every',
  every: 'some',
  find: 'findLast',
  findLast: 'find',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
}

/** Every mutation of a file, in the order of their places. */
export function mutationsOf(path: string, source: string): Mutation[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const found: Mutation[] = []
  visit(program as unknown as Node, (node, returned) => found.push(...mutate(node, source, returned)))
  return found.sort((a, b) => a.start - b.start || a.end - b.end)
}

function mutate(node: Node, source: string, returned: Node | undefined): Mutation[] {
  const whole = (text: string): Mutation => ({ start: node.start, end: node.end, text })
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
      return operatorMutations(node, source)
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
      return conditionMutations(node)
    case 'UnaryExpression':
      return node['operator'] === '!' ? [{ start: node.start, end: node.start + 1, text: '' }] : []
    case 'Literal':
      return typeof node['value'] === 'boolean' ? [whole(`${!node['value']}`)] : []
    case 'ExpressionStatement':
      return 'directive' in node && node['directive'] ? [] : [whole(';')]
    case 'ThrowStatement':
    case 'ContinueStatement':
      return [whole(';')]
    case 'ReturnStatement':
      return isTelling(node['argument']) && mayBeNothing(returned, source) ? [whole('return undefined')] : []
    case 'MemberExpression':
      return methodMutations(node)
    default:
      return []
  }
}

/** `false` and undefined are the same to most callers, and a literal `true` has its own mutation. */
function isTelling(returned: unknown): boolean {
  return isNode(returned) && returned.type !== 'Literal' && returned['name'] !== 'undefined'
}

/** Whether a function may give nothing, by the type that it says it returns. */
function mayBeNothing(returned: Node | undefined, source: string): boolean {
  return returned === undefined || /\b(?:undefined|void|unknown|any)\b/.test(source.slice(returned.start, returned.end))
}

function operatorMutations(node: Node, source: string): Mutation[] {
  const { end: from } = node['left'] as Node
  const { start: to } = node['right'] as Node
  const operator = node['operator'] as string
  const start = from + source.slice(from, to).indexOf(operator)
  return (OPERATORS[operator] ?? []).map(text => ({ start, end: start + operator.length, text, at: node.start }))
}

function conditionMutations({ type, test }: Node): Mutation[] {
  const { start, end } = test as Node
  const values = type === 'WhileStatement' ? ['false'] : ['true', 'false']
  return values.map(text => ({ start, end, text }))
}

function methodMutations({ property, computed }: Node): Mutation[] {
  const { type, name, start, end } = property as Node & { name?: string }
  // A private method of that name is another one.
  const text = computed || type !== 'Identifier' || !Object.hasOwn(METHODS, name!) ? undefined : METHODS[name!]
  return text === undefined ? [] : [{ start, end, text }]
}

/**
 * Types and imports are skipped: they have no behaviour to test. `returned` is the return type of the function around a
 * node.
 */
function visit(node: Node, see: (node: Node, returned: Node | undefined) => void, around?: Node): void {
  if (node.type === 'ImportDeclaration' || node.type.startsWith('TS')) {
    const { expression } = node
    if (isNode(expression)) visit(expression, see, around)
    return
  }
  see(node, around)
  const inside = 'returnType' in node ? ((node['returnType'] as Node | null) ?? undefined) : around
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, see, inside)
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}
