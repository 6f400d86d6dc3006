// A client of Cloudflare's `agents`, which does with frames what the React hook of the same package does.

import { AgentClient } from 'agents/client'
import { WebSocketChatTransport } from 'agents/chat/transport'
import { AbstractChat } from 'ai'
import WebSocket from 'ws'

import { chat, said } from './chat.mjs'

/** What the hook hands on to the transport. */
const HANDLERS = {
  cf_agent_stream_resume_none: 'handleStreamResumeNone',
  cf_agent_stream_resuming: 'handleStreamResuming',
  cf_agent_stream_pending: 'handleStreamPending',
}

const idle = ({ status }) => status === 'ready' || status === 'error'

/**
 * Connects to a session of a server until the test `t` ends: `{client, transport, chat, frame, shown, send, goOn}`. `tools` are
 * sent with each request; `cancels`: a chat that stops reading, also since it has failed, cancels the turn; `client` and the
 * others are options of the client and of the chat.
 */
export async function connect(t, server, session, { tools, cancels = false, client: settings, ...options } = {}) {
  const client = new AgentClient({
    agent: 'Desk',
    name: session,
    host: server.host,
    protocol: 'ws',
    WebSocket,
    // It comes back soon.
    minReconnectionDelay: 50,
    maxReconnectionDelay: 500,
    ...settings,
  })
  t.after(() => client.close())
  const prepareBody = tools && (() => ({ clientTools: tools }))
  const transport = new WebSocketChatTransport({ agent: client, prepareBody, cancelOnClientAbort: cancels })
  const waiting = new Set()
  const own = chat(AbstractChat, { id: session, transport, ...options })
  client.addEventListener('message', ({ data }) => {
    const frame = JSON.parse(data)
    const handler = HANDLERS[frame.type]
    if (handler) transport[handler](frame)
    // Not while chunks that came before it are still being read.
    if (frame.type === 'cf_agent_chat_messages') own.until(idle).then(() => (own.messages = frame.messages))
    if (frame.type === 'cf_agent_chat_clear') own.messages = []
    for (const look of [...waiting]) look(frame)
  })
  const desk = {
    client,
    transport,
    chat: own,
    /** The next frame of that type, from now on, of which that holds. */
    frame: (type, holds = () => true) =>
      new Promise((resolve) => {
        const look = (frame) => {
          if (frame.type !== type || !holds(frame)) return
          waiting.delete(look)
          resolve(frame)
        }
        waiting.add(look)
      }),
    /** What is shown once nothing goes on. */
    shown: async () => {
      await own.until(idle)
      await new Promise(setImmediate)
      return said(own.messages)
    },
    send: (frame) => client.send(JSON.stringify(frame)),
    /** Says that a call is answered, and reads what the model says to that. */
    goOn: async (frame) => {
      transport.expectToolContinuation()
      desk.send({ ...frame, autoContinue: true })
      await desk.chat.resumeStream()
    },
  }
  await client.ready
  return desk
}
