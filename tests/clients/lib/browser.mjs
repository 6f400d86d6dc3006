// Chromium without a window, and pages in it.

import { env } from 'node:process'

import { chromium } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Starts it; `hosts` are names that lead to this machine. The profile is new, and gone afterwards. */
export function launch(...hosts) {
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',')
  const args = rules ? [...FLAGS, `--host-resolver-rules=${rules}`] : FLAGS
  return chromium.launch({ executablePath: env.LATHE_CHROMIUM ?? '/usr/bin/chromium', headless: true, args })
}

/** A new page that ends with the test `t`; what goes wrong in it is printed if the test fails. */
export async function page(t, browser) {
  const page = await browser.newPage()
  const log = (text) => t.diagnostic(`page: ${text}`)
  page.on('console', (message) => log(message.text()))
  page.on('pageerror', (error) => log(String(error)))
  t.after(() => page.close())
  return page
}

/** Waits until `look`, run in the page, returns what is expected. */
export async function shows(page, look, expected) {
  const wanted = JSON.stringify(expected)
  try {
    await page.waitForFunction(`JSON.stringify((${look})()) === ${JSON.stringify(wanted)}`, null, { timeout: 60_000 })
  } catch (error) {
    const seen = await page.evaluate(`JSON.stringify((${look})())`)
    throw new Error(`the page shows\n${seen}\ninstead of\n${wanted}`, { cause: error })
  }
}
