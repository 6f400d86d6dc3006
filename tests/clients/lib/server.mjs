// A `lathe serve` process with a data folder of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { env } from 'node:process'
import { fileURLToPath } from 'node:url'

/** The file of a script for the scripted model, `models/NAME.json`. */
const script = (name) => fileURLToPath(new URL(`../models/${name}.json`, import.meta.url))

/**
 * Starts a server that ends with the test `t`. `model` is the name of a script, or a provider of `provider.mjs`;
 * `extensions` are names of packages, taken from the folder `LATHE_GUESTS`; `args` follow on the command line.
 */
export async function serve(t, { model, extensions = [], args = [] }) {
  const server = new Server(args)
  t.after(() => server.remove())
  mkdirSync(join(server.folder, 'extensions'))
  for (const name of extensions) {
    const file = `${name.replaceAll('-', '_')}.wasm`
    copyFileSync(join(needed('LATHE_GUESTS'), file), join(server.folder, 'extensions', file))
  }
  let id = `scripted:${script(model)}`
  if (typeof model !== 'string') {
    writeFileSync(join(server.folder, 'lathe.toml'), model.settings)
    id = model.id
  }
  server.args.push('--model', id)
  await server.start()
  return server
}

/** What the environment variable says. */
export function needed(variable) {
  if (!env[variable]) throw new Error(`the variable ${variable} is not set; tests/clients/README.md says what it is`)
  return env[variable]
}

class Server {
  constructor(args) {
    this.folder = mkdtempSync(join(tmpdir(), 'lathe-clients-'))
    this.args = ['serve', '--agent', 'desk', ...args]
    /** `HOST:PORT`; the same after a restart. */
    this.host = '127.0.0.1:0'
  }

  async start() {
    const args = [...this.args, '--listen', this.host]
    this.child = spawn(needed('LATHE_BIN'), args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] })
    const said = []
    const lines = createInterface({ input: this.child.stderr })
    await new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('exit', () => reject(new Error(`the server ended:\n${said.join('\n')}`)))
      lines.on('line', (line) => {
        said.push(line)
        const listening = /listening on http:\/\/([^,\s]+)/.exec(line)
        if (listening) resolve(([, this.host] = listening))
      })
    })
    this.url = `http://${this.host}`
  }

  /** Ends it at once, as a crash does. */
  async kill() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await ended
  }

  /** The same, once what was shown is likely to be stored: docs/recovery.md. What is not is said anew. */
  async killOnceStored() {
    await setTimeout(300)
    await this.kill()
  }

  async remove() {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** The stored messages of a session. */
  async messages(session) {
    const answer = await fetch(`${this.url}/agents/desk/${session}/get-messages`)
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
    return answer.json()
  }
}
