/**
 * The server as a service of the user: it runs in the background and is restarted when it dies and when the user logs
 * in. It uses systemd on Linux, launchd on macOS, and a task on Windows. If none is available (in a container), it is
 * a detached process that runs until it or the machine is stopped.
 */
import { execFile, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Environment } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { escapeXml } from '../../replay/plot.ts'
import { homeOf } from './agents.ts'

const NAME = 'palimpsest'
const READY_ATTEMPTS = 200
const ATTEMPT_MS = 100

export type ServiceKind = 'systemd' | 'launchd' | 'task' | 'process'

export type ServiceSpec = {
  /** The program and its arguments. */
  command: readonly string[]
  /** The file to which its output is appended. */
  log: string
}

/** The description of a service for its manager, and the commands that start and stop it. */
type Described = { file: string; text: string; start: string[][]; stop: string[][] }

export function describeService(kind: Exclude<ServiceKind, 'process'>, spec: ServiceSpec, env: Environment): Described {
  const home = homeOf(env)
  if (kind === 'systemd') {
    const control = ['systemctl', '--user']
    return {
      file: join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'systemd', 'user', `${NAME}.service`),
      text: systemdUnit(spec),
      start: [
        [...control, 'daemon-reload'],
        [...control, 'enable', NAME],
        [...control, 'restart', NAME],
      ],
      stop: [[...control, 'disable', '--now', NAME]],
    }
  }
  if (kind === 'launchd') {
    const file = join(home, 'Library', 'LaunchAgents', `${NAME}.plist`)
    const domain = `gui/${process.getuid?.() ?? 0}`
    return {
      file,
      text: launchdPlist(spec),
      start: [['launchctl', 'bootstrap', domain, file]],
      stop: [['launchctl', 'bootout', `${domain}/${NAME}`]],
    }
  }
  const file = join(dirname(spec.log), 'task.xml')
  return {
    file,
    text: windowsTask(spec),
    start: [
      ['schtasks', '/Create', '/F', '/TN', NAME, '/XML', file],
      ['schtasks', '/Run', '/TN', NAME],
    ],
    stop: [
      ['schtasks', '/End', '/TN', NAME],
      ['schtasks', '/Delete', '/F', '/TN', NAME],
    ],
  }
}

function systemdUnit({ command, log }: ServiceSpec): string {
  return [
    '[Unit]',
    'Description=Palimpsest, the context engine between agents and their models',
    '',
    '[Service]',
    `ExecStart=${command.map(systemdWord).join(' ')}`,
    'Restart=always',
    'RestartSec=1',
    `StandardOutput=append:${log.replaceAll('%', '%%')}`,
    'StandardError=inherit',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/** systemd reads escapes, variables and specifiers in a command line. */
function systemdWord(word: string): string {
  return `"${word.replaceAll(/["\\]/g, '\\$&').replaceAll('$', '$$$$').replaceAll('%', '%%')}"`
}

function launchdPlist({ command, log }: ServiceSpec): string {
  const words = command.map(word => `    <string>${escapeXml(word)}</string>`)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key><string>${NAME}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...words,
    '  </array>',
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><true/>',
    `  <key>StandardOutPath</key><string>${escapeXml(log)}</string>`,
    `  <key>StandardErrorPath</key><string>${escapeXml(log)}</string>`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n')
}

function windowsTask({ command, log }: ServiceSpec): string {
  const line = `/d /c "${command.map(word => `"${word}"`).join(' ')} >> "${log}" 2>&1"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>',
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>',
    '  </Settings>',
    `  <Actions><Exec><Command>cmd.exe</Command><Arguments>${escapeXml(line)}</Arguments></Exec></Actions>`,
    '</Task>',
    '',
  ].join('\n')
}

/** The service manager that is available here. */
export async function serviceKind(env: Environment): Promise<ServiceKind> {
  if (process.platform === 'darwin') return 'launchd'
  if (process.platform === 'win32') return 'task'
  return (await ran(['systemctl', '--user', 'show-environment'], env)).ok ? 'systemd' : 'process'
}

/** Starts the service and replaces a running one. Gives the process id if no service manager runs it. */
export async function startService(
  kind: ServiceKind,
  spec: ServiceSpec,
  { env, before }: { env: Environment; before?: number | undefined },
): Promise<number | undefined> {
  if (kind === 'process') {
    await endProcess(before, env)
    return startProcess(spec, env)
  }
  const { file, text, start, stop } = describeService(kind, spec, env)
  await mkdir(dirname(file), { recursive: true })
  await mkdir(dirname(spec.log), { recursive: true })
  await writeFile(file, text)
  if (kind === 'launchd') for (const command of stop) await ran(command, env)
  for (const command of start) await mustRun(command, env)
  return undefined
}

export async function stopService(
  kind: ServiceKind,
  spec: ServiceSpec,
  { env, pid }: { env: Environment; pid?: number | undefined },
): Promise<void> {
  if (kind === 'process') return endProcess(pid, env)
  const { file, stop } = describeService(kind, spec, env)
  for (const command of stop) await ran(command, env)
  await rm(file, { force: true })
}

function startProcess({ command: [program = '', ...args], log }: ServiceSpec, env: Environment): number | undefined {
  mkdirSync(dirname(log), { recursive: true })
  const out = openSync(log, 'a', 0o600)
  try {
    const child = spawn(program, args, { env, detached: true, stdio: ['ignore', out, out], cwd: dirname(log) })
    child.unref()
    return child.pid
  } finally {
    closeSync(out)
  }
}

async function endProcess(pid: number | undefined, env: Environment): Promise<void> {
  for (let attempt = 0; pid !== undefined && attempt < READY_ATTEMPTS; attempt++) {
    // The process id may belong to another program by now.
    const { text } = await ran(['ps', '-o', 'args=', '-p', String(pid)], env)
    if (!/palimpsest|cli\.ts/.test(text) || !text.includes('serve')) return
    if (attempt === 0) process.kill(pid, 'SIGTERM')
    await wait(ATTEMPT_MS)
  }
}

/** Waits until the server answers; gives `false` if it does not. */
export async function untilHealthy(url: string): Promise<boolean> {
  for (let attempt = 0; attempt < READY_ATTEMPTS; attempt++) {
    if (await isHealthy(url)) return true
    await wait(ATTEMPT_MS)
  }
  return false
}

export async function isHealthy(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000) })
    const body: unknown = await answer.json()
    return answer.ok && typeof body === 'object' && body !== null && 'ok' in body && body.ok === true
  } catch {
    return false
  }
}

/** Whether the port is in use. */
export function isPortTaken(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** The command, if one is needed, that lets a user's service run while the user is not logged in. */
export function lingerHint(kind: ServiceKind): string | undefined {
  if (kind !== 'systemd') return undefined
  return `It runs while you are logged in. To keep it running after logout: loginctl enable-linger ${userInfo().username}`
}

function ran([program = '', ...args]: readonly string[], env: Environment): Promise<{ ok: boolean; text: string }> {
  return new Promise(resolve => {
    execFile(program, args, { env }, (error, stdout, stderr) => resolve({ ok: !error, text: stdout + stderr }))
  })
}

async function mustRun(command: readonly string[], env: Environment): Promise<void> {
  const { ok, text } = await ran(command, env)
  if (ok) return
  const said = text.trim().split('\n').at(-1) ?? ''
  throw new PalimpsestError(
    'UNSUPPORTED',
    `${command.join(' ')} failed: ${said}. Start it yourself: palimpsest serve`,
    { command: command.join(' ') },
  )
}
