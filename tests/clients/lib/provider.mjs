// A model that says what a test tells it to, when it tells it to: a script plays by the clock, and a test that does
// something in the middle of an answer cannot wait by the clock.

import { once } from 'node:events'
import { createServer } from 'node:http'

/** Starts a provider with OpenAI's chat completions that ends with the test `t`. */
export async function provider(t) {
  const provider = new Provider()
  provider.server.listen(0, '127.0.0.1')
  await once(provider.server, 'listening')
  t.after(() => {
    provider.server.close()
    provider.server.closeAllConnections()
  })
  return provider
}

class Provider {
  #requests = []
  #waiting = []

  constructor() {
    this.server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const answer = new Answer(response, JSON.parse(body))
      const waiting = this.#waiting.shift()
      if (waiting) waiting(answer)
      else this.#requests.push(answer)
    })
  }

  get id() {
    return 'told:model'
  }

  /** For lathe.toml. */
  get settings() {
    return `[providers.told]\nkind = "openai"\nbase-url = "http://127.0.0.1:${this.server.address().port}/v1"\n`
  }

  /** The next request, to be answered. */
  asked() {
    const answer = this.#requests.shift()
    return answer ? Promise.resolve(answer) : new Promise((resolve) => this.#waiting.push(resolve))
  }
}

class Answer {
  #response

  constructor(response, asked) {
    this.#response = response
    /** The request's body. */
    this.asked = asked
  }

  #chunk(delta, reason = null) {
    const choices = [{ index: 0, delta, finish_reason: reason }]
    const chunk = { id: 'answer', object: 'chat.completion.chunk', created: 0, model: 'model', choices }
    this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }

  say(text) {
    this.#chunk({ role: 'assistant', content: text })
  }

  /** What is missing of that text after what the request shows of it. */
  goOn(text) {
    const known = this.asked.messages.findLast(({ role }) => role === 'assistant')?.content ?? ''
    this.say(text.slice(known.length))
    this.end()
  }

  call(id, name, input) {
    const called = { name, arguments: JSON.stringify(input) }
    this.#chunk({ role: 'assistant', tool_calls: [{ index: 0, id, type: 'function', function: called }] })
    this.#end('tool_calls')
  }

  end() {
    this.#end('stop')
  }

  #end(reason) {
    this.#chunk({}, reason)
    this.#response.end('data: [DONE]\n\n')
  }
}
