// What a version of the AI SDK's `DefaultChatTransport` is tried with, over HTTP and SSE.

import assert from 'node:assert/strict'
import { test as check } from 'node:test'

import { call, chat as chatOver, parts, question, said, text } from './chat.mjs'
import { provider } from './provider.mjs'
import { serve } from './server.mjs'
import { COLOUR } from './tools.mjs'

const test = (name, run) => check(name, { timeout: 120_000 }, run)

/** Registers the checks; `sdk` is the package. */
export function checks(sdk) {
  const { AbstractChat, DefaultChatTransport, readUIMessageStream } = sdk

  /** A chat of the session `s`. `body` and `headers` go with each request. */
  function open(server, { body, headers, ...options } = {}) {
    const transport = new DefaultChatTransport({ api: `${server.url}/api/chat`, body, headers })
    return chatOver(AbstractChat, { id: 's', transport, ...options })
  }

  test('an answer is streamed', async (t) => {
    const server = await serve(t, { model: 'text' })
    const transport = new DefaultChatTransport({ api: `${server.url}/api/chat` })
    const asked = { chatId: 's', messages: [question('u1', 'hi')], trigger: 'submit-message' }
    const grown = []
    for await (const message of readUIMessageStream({ stream: await transport.sendMessages(asked) })) {
      grown.push(text(message))
    }
    for (const part of ['Hello', 'Hello, ', 'Hello, world', 'Hello, world.']) assert.ok(grown.includes(part), part)
    assert.equal(grown.at(-1), 'Hello, world.')
    assert.deepEqual(said(await server.messages('s')), ['user: hi', 'assistant: Hello, world.'])
  })

  test('reasoning is a part of its own', async (t) => {
    const chat = open(await serve(t, { model: 'reasoning' }))
    await chat.sendMessage({ text: 'six times seven?' })
    const [thought] = parts(chat.lastMessage, 'reasoning')
    assert.deepEqual([thought.text, thought.state], ['Six times seven.', 'done'])
    assert.equal(text(chat.lastMessage), 'It is 42.')
  })

  test('the failure of a provider is shown', async (t) => {
    const chat = open(await serve(t, { model: 'error' }))
    await chat.sendMessage({ text: 'hi' })
    assert.equal(chat.status, 'error')
    assert.match(chat.error.message, /on strike/)
  })

  test('a tool of an extension runs on the server', async (t) => {
    const chat = open(await serve(t, { model: 'calc', extensions: ['calc'] }))
    await chat.sendMessage({ text: 'six times seven?' })
    const { state, input, output } = call(chat.lastMessage, 'calc_evaluate')
    assert.deepEqual([state, input, output.result], ['output-available', { expression: '6 * 7' }, '42'])
    assert.equal(text(chat.lastMessage), 'Let me see. It is 42.')
  })

  test("a client's own tool is called, answered by it, and the answer goes on", async (t) => {
    const server = await serve(t, { model: 'client-tool' })
    const chat = open(server, {
      body: { clientTools: [COLOUR] },
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => {
        chat.addToolOutput({ tool, toolCallId, output: 'blue' })
      },
    })
    await chat.sendMessage({ text: 'what colour is the sky?' })
    await chat.until(({ status, lastMessage }) => status === 'ready' && text(lastMessage) === 'The sky is blue.')
    assert.equal(call(chat.lastMessage, 'colour').output, 'blue')
    const stored = await server.messages('s')
    assert.equal(stored.map(text).join(''), 'what colour is the sky?The sky is blue.')
    assert.equal(call(stored[1], 'colour').output, 'blue')
  })

  for (const approved of [true, false]) {
    test(`a call that waits for a person is ${approved ? 'approved and runs' : 'rejected and does not'}`, async (t) => {
      const server = await serve(t, { model: 'approval', extensions: ['gate'] })
      const chat = open(server, { sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses })
      await chat.sendMessage({ text: 'do it' })
      const asked = call(chat.lastMessage, 'gate_danger')
      assert.equal(asked.state, 'approval-requested')
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved })
      await chat.until(({ status, lastMessage }) => status === 'ready' && text(lastMessage) === 'So it is.')
      const stored = await server.messages('s')
      for (const answered of [call(chat.messages[1], 'gate_danger'), call(stored[1], 'gate_danger')]) {
        assert.equal(answered.state, approved ? 'output-available' : 'output-denied')
      }
      assert.equal(stored.map(text).join(''), 'do itSo it is.')
    })
  }

  test('what happens around an answer is told to who asks for it', async (t) => {
    const server = await serve(t, { model: 'calc', extensions: ['calc', 'meter'] })
    const data = []
    const chat = open(server, { headers: { 'x-lathe-events': 'true' }, onData: (part) => data.push(part) })
    await chat.sendMessage({ text: 'six times seven?' })
    const [cost] = data.filter((part) => part.type === 'data-tool-cost')
    assert.deepEqual([cost.data.toolName, cost.data.extension], ['calc_evaluate', 'calc'])
    assert.ok(cost.data.fuel > 0 && cost.data.durationMs > 0, JSON.stringify(cost))
    const hooks = data.filter((part) => part.type === 'data-hook-call').map((part) => part.data)
    assert.ok(hooks.some((hook) => hook.extension === 'meter'), JSON.stringify(hooks))
    assert.deepEqual(chat.lastMessage.parts.filter((part) => part.type.startsWith('data-')), [], 'none is kept')
    const quiet = open(server, { onData: (part) => assert.fail(part.type) })
    await quiet.sendMessage({ text: 'again' })
    assert.equal(quiet.status, 'ready')
  })

  test('there is nothing to resume in a session that is idle', async (t) => {
    const server = await serve(t, { model: 'text' })
    const transport = new DefaultChatTransport({ api: `${server.url}/api/chat` })
    assert.equal(await transport.reconnectToStream({ chatId: 's' }), null)
    const chat = open(server)
    await chat.sendMessage({ text: 'hi' })
    assert.equal(await transport.reconnectToStream({ chatId: 's' }), null)
  })

  test('another client resumes in the middle, and both have all of it once', async (t) => {
    const model = await provider(t)
    const server = await serve(t, { model })
    const one = open(server)
    const asking = one.sendMessage({ text: 'count' })
    const answer = await model.asked()
    answer.say('one ')
    answer.say('two ')
    await one.until(({ lastMessage }) => text(lastMessage) === 'one two ')
    const two = open(server, { messages: [question('u', 'count')] })
    const resuming = two.resumeStream()
    await two.until(({ lastMessage }) => text(lastMessage) === 'one two ')
    answer.say('three ')
    answer.say('four')
    answer.end()
    await Promise.all([asking, resuming])
    for (const { messages } of [one, two]) {
      assert.deepEqual(said(messages), ['user: count', 'assistant: one two three four'])
    }
  })

  test('a client that stops reading does not stop the answer, which it can resume', async (t) => {
    const model = await provider(t)
    const server = await serve(t, { model })
    const chat = open(server)
    const asking = chat.sendMessage({ text: 'count' })
    const answer = await model.asked()
    answer.say('one ')
    await chat.until(({ lastMessage }) => text(lastMessage) === 'one ')
    await chat.stop()
    await asking
    chat.messages = chat.messages.slice(0, 1)
    const resuming = chat.resumeStream()
    await chat.until(({ lastMessage }) => text(lastMessage) === 'one ')
    answer.say('two')
    answer.end()
    await resuming
    assert.deepEqual(said(chat.messages), ['user: count', 'assistant: one two'])
    assert.deepEqual(said(await server.messages('s')), ['user: count', 'assistant: one two'])
  })

  test('an answer is given anew', async (t) => {
    const server = await serve(t, { model: 'turns' })
    const chat = open(server)
    await chat.sendMessage({ text: 'hi' })
    assert.deepEqual(said(chat.messages), ['user: hi', 'assistant: First.'])
    await chat.regenerate()
    assert.deepEqual(said(chat.messages), ['user: hi', 'assistant: Second.'])
    assert.deepEqual(said(await server.messages('s')), ['user: hi', 'assistant: Second.'])
  })

  test('after the server is killed in the middle of an answer, the rest can be resumed', async (t) => {
    const model = await provider(t)
    const server = await serve(t, { model })
    const chat = open(server)
    const asking = chat.sendMessage({ text: 'count' })
    const answer = await model.asked()
    answer.say('one ')
    answer.say('two ')
    await chat.until(({ lastMessage }) => text(lastMessage) === 'one two ')
    await server.killOnceStored()
    await asking
    assert.equal(chat.status, 'error')
    await server.start()
    chat.clearError()
    const resuming = chat.resumeStream()
    const rest = await model.asked()
    rest.goOn('one two three four')
    await resuming
    assert.equal(chat.status, 'ready')
    assert.deepEqual(said(await server.messages('s')), ['user: count', 'assistant: one two three four'])
  })
}
