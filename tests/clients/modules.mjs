// What the server's own page computes, without a browser.
import "./page/chunks.test.mjs";
import "./page/config.test.mjs";
import "./page/markdown.test.mjs";
