// `useAgent` and `useAgentChat` in a real browser, in a page of another origin than the server's.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test as check } from 'node:test'
import { fileURLToPath } from 'node:url'

import { build } from 'esbuild'

import { launch, page as newPage, shows } from './lib/browser.mjs'
import { provider } from './lib/provider.mjs'
import { serve } from './lib/server.mjs'

/** The page is of no machine that the server would let in unasked. */
const HOST = 'chat.example.org'
const test = (name, run) => check(name, { timeout: 180_000 }, run)

let browser
let site
let origin

before(async () => {
  const bundled = await build({
    entryPoints: [fileURLToPath(new URL('react/app.jsx', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    // Of the server's half of the package.
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
  })
  const script = bundled.outputFiles[0].text
  site = createServer((request, response) => {
    const js = request.url === '/app.js'
    response.setHeader('content-type', js ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8')
    response.end(js ? script : '<!doctype html><title>Chat</title><body><script type="module" src="/app.js"></script>')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://${HOST}:${site.address().port}`
  browser = await launch(HOST)
})

after(async () => {
  await browser?.close()
  site?.close()
  site?.closeAllConnections()
})

/** A page that is connected to the session `s` of a new server with that model. */
async function open(t, options) {
  const server = await serve(t, { ...options, args: ['--origin', origin] })
  const page = await newPage(t, browser)
  await page.goto(`${origin}/?host=${server.host}&session=s`)
  await page.waitForSelector('main[data-connected=true]')
  const ask = async (text) => {
    await page.fill('input', text)
    await page.click('text=Send')
  }
  return { server, page, ask }
}

/** The conversation as it is shown: `ROLE: TEXT`, with tools in brackets. */
const conversation = `() => [...document.querySelectorAll('article')].map((article) => {
  const parts = [...article.children].map((part) =>
    part.tagName === 'SECTION' ? '[' + part.dataset.state + ']' : part.textContent)
  return article.dataset.role + ': ' + parts.join('')
})`

const last = `() => [...document.querySelectorAll('article')].at(-1)?.textContent`

const settled = (page) => page.waitForSelector('main[data-status=ready]')

test('what is typed is answered, and the answer is seen as it comes', async (t) => {
  const model = await provider(t)
  const { page, ask } = await open(t, { model })
  await ask('count')
  const answer = await model.asked()
  answer.say('one ')
  await shows(page, conversation, ['user: count', 'assistant: one '])
  answer.say('two')
  await shows(page, conversation, ['user: count', 'assistant: one two'])
  answer.end()
  await settled(page)
  await shows(page, conversation, ['user: count', 'assistant: one two'])
})

test('the failure of a provider is shown', async (t) => {
  const { page, ask } = await open(t, { model: 'error' })
  await ask('hi')
  await page.waitForSelector('[role=alert]:has-text("on strike")')
})

test('a call of a tool is seen', async (t) => {
  const { page, ask } = await open(t, { model: 'calc', extensions: ['calc'] })
  await ask('six times seven?')
  const expected = ['user: six times seven?', 'assistant: Let me see. [output-available]It is 42.']
  await shows(page, conversation, expected)
  await settled(page)
  await shows(page, conversation, expected)
})

for (const [button, state] of [
  ['Approve', 'output-available'],
  ['Reject', 'output-denied'],
]) {
  test(`a call that waits for a person: ${button}`, async (t) => {
    const { page, ask } = await open(t, { model: 'approval', extensions: ['gate'] })
    await ask('do it')
    await shows(page, conversation, ['user: do it', 'assistant: [approval-requested]'])
    await page.click(`text=${button}`)
    // Until the page is loaded anew, the hook may show more than that: `agents.mjs` says why.
    await shows(page, last, 'So it is.')
    await page.reload()
    await shows(page, conversation, ['user: do it', `assistant: [${state}]`, 'assistant: So it is.'])
  })
}

test('an answer is stopped in its middle, and what was said stays', async (t) => {
  const model = await provider(t)
  const { page, ask } = await open(t, { model })
  await ask('count')
  const answer = await model.asked()
  answer.say('one ')
  await shows(page, conversation, ['user: count', 'assistant: one '])
  await page.click('text=Stop')
  await settled(page)
  await page.reload()
  await shows(page, conversation, ['user: count', 'assistant: one '])
})

test('a page that is loaded anew in the middle of an answer goes on with it', async (t) => {
  const model = await provider(t)
  const { page, ask } = await open(t, { model })
  await ask('count')
  const answer = await model.asked()
  answer.say('one ')
  await shows(page, conversation, ['user: count', 'assistant: one '])
  await page.reload()
  await shows(page, conversation, ['user: count', 'assistant: one '])
  answer.say('two')
  await shows(page, conversation, ['user: count', 'assistant: one two'])
  answer.end()
  await settled(page)
  await shows(page, conversation, ['user: count', 'assistant: one two'])
})

test('after the server is killed in the middle of an answer and started again, the page goes on by itself', async (t) => {
  const model = await provider(t)
  const { server, page, ask } = await open(t, { model })
  await ask('count')
  const answer = await model.asked()
  answer.say('one ')
  answer.say('two ')
  await shows(page, conversation, ['user: count', 'assistant: one two '])
  await server.killOnceStored()
  await server.start()
  const rest = await model.asked()
  rest.goOn('one two three four')
  await shows(page, conversation, ['user: count', 'assistant: one two three four'])
  await ask('and now?')
  const next = await model.asked()
  next.say('Done.')
  next.end()
  const expected = ['user: count', 'assistant: one two three four', 'user: and now?', 'assistant: Done.']
  await shows(page, conversation, expected)
  await settled(page)
  await shows(page, conversation, expected)
})

test('a page of an origin that is not let in gets nothing', async (t) => {
  const server = await serve(t, { model: 'text' })
  const page = await newPage(t, browser)
  await page.goto(origin)
  const tried = await page.evaluate(async (host) => {
    const failed = (promise) => promise.then(() => 'let in', () => 'refused')
    const socket = new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${host}/agents/desk/s`)
      socket.onopen = resolve
      socket.onerror = reject
    })
    const body = JSON.stringify({ id: 's', messages: [] })
    const headers = { 'content-type': 'application/json' }
    return [
      await failed(socket),
      await failed(fetch(`http://${host}/agents/desk/s/get-messages`)),
      await failed(fetch(`http://${host}/api/chat`, { method: 'POST', headers, body })),
    ]
  }, server.host)
  if (tried.includes('let in')) throw new Error(String(tried))
})
