// A chat as somebody would build it with Cloudflare's hooks. `?host=HOST:PORT&session=NAME` says where it connects to.

import { Suspense, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useAgentChat } from 'agents/chat/react'
import { useAgent } from 'agents/react'

const asked = new URLSearchParams(location.search)

function Tool({ part, answer }) {
  const decide = (approved) => () => answer({ id: part.approval.id, approved })
  return (
    <section data-state={part.state}>
      {part.type} {part.state}
      {part.state === 'approval-requested' && (
        <>
          <button onClick={decide(true)}>Approve</button>
          <button onClick={decide(false)}>Reject</button>
        </>
      )}
    </section>
  )
}

function Chat() {
  const agent = useAgent({ agent: 'Desk', name: asked.get('session'), host: asked.get('host'), protocol: 'ws' })
  const chat = useAgentChat({ agent })
  const [input, setInput] = useState('')
  const submit = (event) => {
    event.preventDefault()
    chat.sendMessage({ text: input })
    setInput('')
  }
  return (
    <main data-status={chat.status} data-connected={agent.identified}>
      {chat.messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, at) => {
            if (part.type === 'text') return <span key={at}>{part.text}</span>
            if (part.type.startsWith('tool-')) return <Tool key={at} part={part} answer={chat.addToolApprovalResponse} />
            return null
          })}
        </article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={submit}>
        <input value={input} onChange={(event) => setInput(event.target.value)} />
        <button type="submit">Send</button>
        <button type="button" onClick={() => chat.stop()}>
          Stop
        </button>
      </form>
    </main>
  )
}

createRoot(document.body).render(
  <Suspense fallback="…">
    <Chat />
  </Suspense>,
)
