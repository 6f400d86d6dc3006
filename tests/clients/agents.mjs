// `agents/client` and `agents/chat/transport`, over WebSocket.

import assert from 'node:assert/strict'
import { test as check } from 'node:test'

import { readUIMessageStream } from 'ai'

import { call, question, said, text } from './lib/chat.mjs'
import { connect } from './lib/desk.mjs'
import { provider } from './lib/provider.mjs'
import { serve } from './lib/server.mjs'
import { COLOUR } from './lib/tools.mjs'

const test = (name, run) => check(name, { timeout: 120_000 }, run)

test('it is told who it speaks to', async (t) => {
  const server = await serve(t, { model: 'text' })
  const { client } = await connect(t, server, 's-1')
  assert.deepEqual([client.agent, client.name, client.identified], ['desk', 's-1', true])
})

test('a call of a method is answered, and of one that is not there fails', async (t) => {
  const server = await serve(t, { model: 'text' })
  const { client } = await connect(t, server, 's')
  assert.deepEqual(await client.call('pendingApprovals'), [])
  await assert.rejects(client.call('noSuchThing', [1]), /noSuchThing/)
})

test('state that one sets reaches the others, and those who come later', async (t) => {
  const server = await serve(t, { model: 'text' })
  const one = await connect(t, server, 's')
  let told
  const reached = new Promise((resolve) => (told = resolve))
  await connect(t, server, 's', { client: { onStateUpdate: (state, by) => told([state, by]) } })
  one.client.setState({ count: 1 })
  assert.deepEqual(await reached, [{ count: 1 }, 'server'])
  const later = await connect(t, server, 's')
  assert.deepEqual(later.client.state, { count: 1 })
})

test('an answer is streamed', async (t) => {
  const server = await serve(t, { model: 'text' })
  const { transport } = await connect(t, server, 's')
  const asked = { chatId: 's', messages: [question('u1', 'hi')], trigger: 'submit-message' }
  const grown = []
  for await (const message of readUIMessageStream({ stream: await transport.sendMessages(asked) })) {
    grown.push(text(message))
  }
  for (const part of ['Hello', 'Hello, ', 'Hello, world', 'Hello, world.']) assert.ok(grown.includes(part), part)
  assert.equal(grown.at(-1), 'Hello, world.')
  assert.deepEqual(said(await server.messages('s')), ['user: hi', 'assistant: Hello, world.'])
})

test('the failure of a provider is shown', async (t) => {
  const server = await serve(t, { model: 'error' })
  const { chat } = await connect(t, server, 's')
  await chat.sendMessage({ text: 'hi' })
  assert.equal(chat.status, 'error')
  assert.match(chat.error.message, /on strike/)
})

test('a tool of an extension runs on the server', async (t) => {
  const server = await serve(t, { model: 'calc', extensions: ['calc'] })
  const { chat } = await connect(t, server, 's')
  await chat.sendMessage({ text: 'six times seven?' })
  const { state, input, output } = call(chat.lastMessage, 'calc_evaluate')
  assert.deepEqual([state, input, output.result], ['output-available', { expression: '6 * 7' }, '42'])
  assert.equal(text(chat.lastMessage), 'Let me see. It is 42.')
})

test("a client's own tool is offered, called, answered by it, and the answer goes on", async (t) => {
  const server = await serve(t, { model: 'client-tool' })
  const { chat, goOn, shown } = await connect(t, server, 's', { tools: [COLOUR] })
  await chat.sendMessage({ text: 'what colour is the sky?' })
  const asked = call(chat.lastMessage, 'colour')
  assert.deepEqual([asked.state, asked.input], ['input-available', { of: 'sky' }])
  await goOn({ type: 'cf_agent_tool_result', toolCallId: asked.toolCallId, toolName: 'colour', output: 'blue' })
  assert.equal(chat.status, 'ready')
  const stored = await server.messages('s')
  // As in Think, the answer goes on in a message of its own.
  const expected = ['user: what colour is the sky?', 'assistant: ', 'assistant: The sky is blue.']
  assert.deepEqual(said(stored), expected)
  assert.deepEqual(await shown(), expected)
  assert.equal(call(stored[1], 'colour').output, 'blue')
})

for (const approved of [true, false]) {
  test(`a call that waits for a person is ${approved ? 'approved and runs' : 'rejected and does not'}`, async (t) => {
    const server = await serve(t, { model: 'approval', extensions: ['gate'] })
    const { chat, client, goOn, frame, shown } = await connect(t, server, 's')
    await chat.sendMessage({ text: 'do it' })
    const asked = call(chat.lastMessage, 'gate_danger')
    assert.equal(asked.state, 'approval-requested')
    // It lists what waits besides tools; those are in the conversation.
    assert.deepEqual(await client.call('pendingApprovals'), [])
    // The chat gives up a stream that begins with the result of a call in an earlier message, as Think's does: what is
    // shown then comes with the conversation.
    const told = frame('cf_agent_chat_messages', ({ messages }) => messages.length === 3)
    await goOn({ type: 'cf_agent_tool_approval', toolCallId: asked.toolCallId, approved })
    await told
    assert.deepEqual(await shown(), ['user: do it', 'assistant: ', 'assistant: So it is.'])
    const answered = call((await server.messages('s'))[1], 'gate_danger')
    assert.equal(answered.state, approved ? 'output-available' : 'output-denied')
    assert.equal(answered.output, approved ? 'done, unasked' : undefined)
    assert.deepEqual(await client.call('pendingApprovals'), [])
  })
}

test('what follows an answered call is streamed to who has answered it', async (t) => {
  const model = await provider(t)
  const server = await serve(t, { model })
  const { chat, goOn, shown } = await connect(t, server, 's', { tools: [COLOUR] })
  const asking = chat.sendMessage({ text: 'what colour is the sky?' })
  const first = await model.asked()
  assert.equal(first.asked.tools[0].function.name, 'colour')
  first.call('c1', 'colour', { of: 'sky' })
  await asking
  const going = goOn({ type: 'cf_agent_tool_result', toolCallId: 'c1', toolName: 'colour', output: 'blue' })
  const second = await model.asked()
  assert.equal(second.asked.messages.at(-1).content, 'blue')
  second.say('It is ')
  await chat.until(({ lastMessage }) => text(lastMessage) === 'It is ')
  second.say('blue.')
  second.end()
  await going
  assert.deepEqual(await shown(), ['user: what colour is the sky?', 'assistant: ', 'assistant: It is blue.'])
})

test('there is nothing to resume in a session that is idle', async (t) => {
  const server = await serve(t, { model: 'text' })
  const { transport } = await connect(t, server, 's')
  assert.equal(await transport.reconnectToStream(), null)
})

test('an answer is cancelled in its middle, and what was said stays', async (t) => {
  const model = await provider(t)
  const server = await serve(t, { model })
  const { chat, frame } = await connect(t, server, 's', { cancels: true })
  const asking = chat.sendMessage({ text: 'count' })
  const answer = await model.asked()
  answer.say('one ')
  await chat.until(({ lastMessage }) => text(lastMessage) === 'one ')
  const stored = frame('cf_agent_chat_messages', ({ messages }) => messages.length === 2)
  await chat.stop()
  await asking
  assert.deepEqual(said((await stored).messages), ['user: count', 'assistant: one '])
  assert.deepEqual(said(await server.messages('s')), ['user: count', 'assistant: one '])
})

test('another connection resumes in the middle, and both have all of it once', async (t) => {
  const model = await provider(t)
  const server = await serve(t, { model })
  const one = await connect(t, server, 's')
  const asking = one.chat.sendMessage({ text: 'count' })
  const answer = await model.asked()
  answer.say('one ')
  answer.say('two ')
  await one.chat.until(({ lastMessage }) => text(lastMessage) === 'one two ')
  const two = await connect(t, server, 's', { messages: [question('u', 'count')] })
  const resuming = two.chat.resumeStream()
  await two.chat.until(({ lastMessage }) => text(lastMessage) === 'one two ')
  answer.say('three ')
  answer.say('four')
  answer.end()
  await Promise.all([asking, resuming])
  for (const { shown } of [one, two]) {
    assert.deepEqual(await shown(), ['user: count', 'assistant: one two three four'])
  }
})

test('two connections have the same conversation', async (t) => {
  const server = await serve(t, { model: 'turns' })
  const [one, two] = [await connect(t, server, 's'), await connect(t, server, 's')]
  const told = two.frame('cf_agent_chat_messages', ({ messages }) => messages.length === 2)
  await one.chat.sendMessage({ text: 'a' })
  await told
  assert.deepEqual(await two.shown(), ['user: a', 'assistant: First.'])
  const back = one.frame('cf_agent_chat_messages', ({ messages }) => messages.length === 4)
  await two.chat.sendMessage({ text: 'b' })
  const expected = ['user: a', 'assistant: First.', 'user: b', 'assistant: Second.']
  assert.deepEqual(said((await back).messages), expected)
  assert.deepEqual(await two.shown(), expected)
})

test('a conversation that one clears is empty for all', async (t) => {
  const server = await serve(t, { model: 'text' })
  const [one, two] = [await connect(t, server, 's'), await connect(t, server, 's')]
  await one.chat.sendMessage({ text: 'hi' })
  const cleared = two.frame('cf_agent_chat_clear')
  one.send({ type: 'cf_agent_chat_clear' })
  await cleared
  assert.deepEqual(await two.shown(), [])
  assert.deepEqual(await server.messages('s'), [])
})

test('after the server is killed in the middle of an answer it comes back, and the answer is completed', async (t) => {
  const model = await provider(t)
  const server = await serve(t, { model })
  const { client, chat, frame, shown } = await connect(t, server, 's')
  const asking = chat.sendMessage({ text: 'count' })
  const answer = await model.asked()
  answer.say('one ')
  answer.say('two ')
  await chat.until(({ lastMessage }) => text(lastMessage) === 'one two ')
  await server.killOnceStored()
  await asking
  assert.equal(chat.status, 'error', 'it is told that the answer was cut off')
  const back = new Promise((resolve) => client.addEventListener('open', resolve, { once: true }))
  await server.start()
  await back
  await client.ready
  const resuming = chat.resumeStream()
  const rest = await model.asked()
  const stored = frame('cf_agent_chat_messages', ({ messages }) => text(messages.at(-1)).endsWith('four'))
  rest.goOn('one two three four')
  await resuming
  const { messages } = await stored
  assert.deepEqual(said(messages), ['user: count', 'assistant: one two three four'])
  assert.deepEqual(said(await server.messages('s')), said(messages))
  assert.deepEqual(await shown(), said(messages))
})
