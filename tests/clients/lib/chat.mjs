// The AI SDK's chat without a framework around it, and what is looked at in messages.

class State {
  #changed
  #values

  constructor(messages, changed) {
    this.#changed = changed
    this.#values = { messages, status: 'ready', error: undefined }
    for (const key of Object.keys(this.#values)) {
      Object.defineProperty(this, key, {
        get: () => this.#values[key],
        set: (value) => {
          this.#values[key] = value
          queueMicrotask(this.#changed)
        },
      })
    }
  }

  snapshot = (value) => structuredClone(value)
  pushMessage = (message) => (this.messages = [...this.messages, message])
  popMessage = () => (this.messages = this.messages.slice(0, -1))
  replaceMessage = (at, message) => (this.messages = this.messages.with(at, structuredClone(message)))
}

/**
 * A chat over the `AbstractChat` of a version of `ai`. Its `until(holds)` resolves once what it says of the chat holds,
 * to what `holds` returns.
 */
export function chat(AbstractChat, { messages = [], ...options }) {
  const listeners = new Set()
  class Chat extends AbstractChat {
    until(holds) {
      return new Promise((resolve) => {
        const look = () => {
          const found = holds(this)
          if (!found) return
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        look()
      })
    }
  }
  const changed = () => [...listeners].forEach((listener) => listener())
  return new Chat({ ...options, state: new State(messages, changed) })
}

/** The parts of a type. */
export const parts = (message, type) => (message?.parts ?? []).filter((part) => part.type === type)

/** All text of a message. */
export const text = (message) => parts(message, 'text').map((part) => part.text).join('')

/** The call of a tool in a message. */
export const call = (message, name) => parts(message, `tool-${name}`)[0]

/** Messages in short: who says what. */
export const said = (messages) => messages.map((message) => `${message.role}: ${text(message)}`)

/** A question, as a client that has loaded its page anew knows it. */
export const question = (id, words) => ({ id, role: 'user', parts: [{ type: 'text', text: words }] })
