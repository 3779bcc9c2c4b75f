// Tests of the picture in a real browser. They open the pages of the sample traces and check
// what a reader would see. They wait for conditions, never for a time.
//
//	npm ci && npm test
//
// They need Go, Node 20 and Chromium: /usr/bin/chromium, or the program that CHROMIUM names.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const limit = { timeout: 60_000 };
let browser, pages;

before(async () => {
  pages = mkdtempSync(join(tmpdir(), "pages-"));
  execFileSync("go", ["run", "./simulation/picture/internal/pages", pages], { cwd: root, stdio: "inherit" });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [], // the sandbox refuses root
  });
}, { timeout: 180_000 });

after(async () => {
  await browser?.close();
  rmSync(pages, { recursive: true, force: true });
});

// look opens a page, and closes it when the test ends. The test fails if the page logs an
// error or a warning, or loads another file.
async function look(t, name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage(), wrong = [];
  const address = pathToFileURL(join(pages, name + ".html")).href;
  page.on("pageerror", (e) => wrong.push(String(e.stack)));
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) wrong.push(m.text()); });
  page.on("request", (r) => { if (r.url() !== address && !r.url().startsWith("data:")) wrong.push("loads " + r.url()); });
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await page.locator(".stage:visible, main > .sentence").first().waitFor();
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  return page;
}

const run = (page) => page.locator(".run:visible");
const cursor = async (page) => Number(await run(page).getAttribute("data-cursor"));
const count = (page, selector) => run(page).locator(".stage " + selector).count();

// until waits for a condition in the page.
const until = (page, condition, argument) => page.waitForFunction(condition, argument);
const cursorIs = (page, want) => until(page, (w) => document.querySelector(".run:not([hidden])").dataset.cursor === String(w), want);

// repainted calls doing, and waits until the view has changed.
async function repainted(page, doing) {
  const last = await run(page).getAttribute("data-view");
  await doing();
  await until(page, (l) => document.querySelector(".run:not([hidden])").dataset.view !== l, last);
}

for (const name of ["violation", "stormy", "large", "nothing"]) {
  test(`${name}: loads without a complaint, and nothing else`, limit, async (t) => {
    const page = await look(t, name);
    assert.ok(await run(page).locator(".sentence").textContent());
    await page.keyboard.press("n");
    await page.keyboard.press("0");
    await page.keyboard.press(".");
  });
}

test("the violation is named, marked and in view", limit, async (t) => {
  const page = await look(t, "violation");
  assert.match(await run(page).locator(".sentence").textContent(), /^Entry \d+:\d+ was committed .*: “committed entries stay” violated at/);
  assert.ok(await count(page, "path.violation") > 0);
  assert.ok(await count(page, ".message.past") > 0);
});

test("the table says which nodes have the lost entry, from the moment when it was lost", limit, async (t) => {
  const page = await look(t, "violation");
  const header = run(page).locator(".states th", { hasText: /^entry \d+:\d+$/ });
  await header.waitFor();
  assert.ok(await run(page).locator(".states td", { hasText: /^acknowledged$/ }).count() > 0);
  assert.ok(await run(page).locator(".states td.lost").count() > 0);
  await page.keyboard.press("Home");
  await until(page, () => ![...document.querySelectorAll(".run:not([hidden]) .states th")].some((e) => e.textContent.startsWith("entry")));
});

test("only what led to the violation", limit, async (t) => {
  const page = await look(t, "violation"), all = await count(page, ".message");
  await page.keyboard.press("o");
  await run(page).locator(".only[aria-pressed=true]").waitFor();
  await run(page).locator(".stage .dimmed").first().waitFor({ state: "attached" });
  const past = await count(page, ".message.past");
  assert.equal(await count(page, ".message"), past);
  assert.ok(past < all);
  await page.keyboard.press("p");
  await run(page).locator(".moment").waitFor();
  await page.keyboard.press("o");
  await run(page).locator(".only[aria-pressed=false]").waitFor();
  await until(page, (n) => document.querySelectorAll(".run:not([hidden]) .stage .message").length > n, past);
});

test("filters change what is drawn", limit, async (t) => {
  const page = await look(t, "stormy");
  for (const kind of ["vote", "prevote", "heartbeat"]) {
    assert.ok(await count(page, ".message." + kind) > 0, kind);
    await run(page).locator(`[data-filter=${kind}]`).uncheck();
    await until(page, (k) => document.querySelectorAll(".run:not([hidden]) .stage .message." + k).length === 0, kind);
    await run(page).locator(`[data-filter=${kind}]`).check();
    await until(page, (k) => document.querySelectorAll(".run:not([hidden]) .stage .message." + k).length > 0, kind);
  }
  const rails = await count(page, ".rail");
  await run(page).locator("[data-node='2']").uncheck();
  await until(page, (n) => document.querySelectorAll(".run:not([hidden]) .stage .rail").length === n - 1, rails);
});

test("delivered heartbeats can be hidden", limit, async (t) => {
  const page = await look(t, "stormy");
  for (let tries = 0; await count(page, ".crossed") === 0; tries++) {
    assert.ok(tries < 8, "a message was lost somewhere");
    await repainted(page, () => page.keyboard.press("-"));
  }
  const all = await count(page, ".message.heartbeat:not(.past)");
  await run(page).locator("[data-filter=troubled]").check();
  await until(page, (n) => document.querySelectorAll(".run:not([hidden]) .stage .message.heartbeat:not(.past)").length < n, all);
  assert.ok(await count(page, ".crossed") > 0, "those that were lost stay");
});

// overlaps returns the texts of a drawing that overlap or reach out of it. The nodes' names
// cover texts that have scrolled below them.
const overlaps = (svg) => {
  const box = svg.viewBox.baseVal, cover = svg.querySelector(".gutter")?.getBBox().width ?? 0, found = [];
  const texts = [...svg.querySelectorAll("text")].map((e) => [e, e.getBBox()]);
  texts.forEach(([e, a], i) => {
    if (a.x < -1 || a.x + a.width > box.width + 1 || a.y < -1) found.push(`${e.textContent} reaches out`);
    if (!e.classList.contains("node") && a.x < cover) found.push(`${e.textContent} is covered`);
    for (const [other, b] of texts.slice(i + 1)) {
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height) found.push(`${e.textContent} | ${other.textContent}`);
    }
  });
  return found;
};

for (const name of ["violation", "stormy", "crowded", "explored", "large"]) {
  for (const width of name === "large" ? [1280] : [1280, 360]) {
    test(`${name}, ${width} wide: no label lies on another`, limit, async (t) => {
      const page = await look(t, name, { viewport: { width, height: 800 } });
      let seen = 0;
      for (const key of ["v", "+", "+", "N", "+", "n", "-", "-", "-", "-", "N", "ArrowRight", "0", "+", "+", "ArrowLeft", "+", "+"]) {
        await page.keyboard.press(key);
        await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
        assert.deepEqual(await run(page).locator(".stage").evaluate(overlaps), [], "after " + key);
        seen += await count(page, "text:not(.node)");
      }
      assert.ok(seen > 18 * 3, `and there are labels: ${seen}`);
    });
  }
}

for (const name of ["violation", "stormy", "crowded", "explored"]) {
  test(`${name}: no label of the still drawing lies on another`, limit, async (t) => {
    const page = await look(t, name, { javaScriptEnabled: false });
    assert.deepEqual(await page.locator("svg.still").first().evaluate(overlaps), []);
    assert.ok(await page.locator("svg.still").first().locator("text.term").count() > 2);
  });
}

test("an explored run shows its ticks and its leases", limit, async (t) => {
  const page = await look(t, "explored");
  assert.equal(await count(page, ".clock"), 7, "three ticks, of which n0 misses two");
  assert.equal(await count(page, ".struck"), 2);
  assert.equal(await count(page, "rect.lease"), 2);
  assert.match(await run(page).locator(".sentence").textContent(), /^n2 held a lease in term 2 while n0 held one in term 1/);
  assert.match(await run(page).locator(".legend").textContent(), /clock’s tick/);
});

test("only faults that struck are listed", limit, async (t) => {
  const page = await look(t, "violation"), rows = run(page).locator(".tables table").nth(1).locator("tbody tr");
  for (const text of await rows.allTextContents()) assert.doesNotMatch(text, /\D0$/);
});

test("step keys move the cursor and the state panel", limit, async (t) => {
  const page = await look(t, "stormy"), moment = run(page).locator(".moment"), began = await cursor(page);
  const told = await moment.textContent();
  await page.keyboard.press("n");
  await cursorIs(page, began + 1);
  assert.notEqual(await moment.textContent(), told);
  await page.keyboard.press("k");
  await cursorIs(page, began);
  assert.equal(await moment.textContent(), told);
  await page.keyboard.press("N");
  await until(page, (b) => Number(document.querySelector(".run").dataset.cursor) > b, began);
  assert.match(await run(page).locator(".changes").textContent(), /role|serves/);
  await page.keyboard.press("Home");
  await cursorIs(page, 0);
  await page.keyboard.press("End");
  await until(page, () => /(\d+) of \1$/.test(document.querySelector(".moment .faint").textContent.trim()));
  assert.equal(await run(page).locator(".states tbody tr").count(), 4, "three voters and an observer");
  assert.equal(await run(page).locator(".graph circle").count(), 4);
});

test("messages are described, by key and by pointer", limit, async (t) => {
  const page = await look(t, "stormy");
  await page.keyboard.press(".");
  await run(page).locator(".stage .message.chosen").waitFor({ state: "attached" });
  assert.match(await run(page).locator(".told").textContent(), /n\d to n\d: .*term \d+, round \d+.*sent/);
  await run(page).locator(".stage rect.reign").first().hover();
  await page.locator(".tip:visible").waitFor();
  assert.match(await page.locator(".tip").textContent(), /led term/);
});

test("a click puts the cursor there", limit, async (t) => {
  const page = await look(t, "stormy"), box = await run(page).locator(".stage").boundingBox(), began = await cursor(page);
  await page.mouse.click(box.x + box.width - 30, box.y + box.height - 40);
  await until(page, (b) => Number(document.querySelector(".run").dataset.cursor) > b, began);
});

test("wheel, drag and keys zoom and pan", limit, async (t) => {
  const page = await look(t, "stormy"), box = await run(page).locator(".stage").boundingBox();
  await page.keyboard.press("n");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await repainted(page, () => page.mouse.wheel(0, -200));
  await repainted(page, () => page.keyboard.press("-"));
  await repainted(page, () => page.keyboard.press("ArrowRight"));
  await repainted(page, async () => {
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 - 120, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
  });
  await repainted(page, () => page.keyboard.press("v"));
});

test("tabs switch between the shrunk run and the original", limit, async (t) => {
  const page = await look(t, "violation"), tabs = page.getByRole("tab");
  assert.deepEqual(await tabs.allTextContents(), ["shrunk", "original"]);
  await tabs.nth(0).focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("#run-1 .stage").waitFor();
  assert.equal(await page.locator("#run-0").isVisible(), false);
  assert.equal(await tabs.nth(1).getAttribute("aria-selected"), "true");
});

test("help opens and closes by key", limit, async (t) => {
  const page = await look(t, "stormy");
  await page.keyboard.press("?");
  await page.locator("dialog.help").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog.help").waitFor({ state: "hidden" });
});

test("the button copies the command line that replays the run", limit, async (t) => {
  const page = await look(t, "violation", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator(".replay code").textContent());
});

for (const name of ["violation", "stormy", "large", "nothing"]) {
  test(`${name}: fits a small screen`, limit, async (t) => {
    const page = await look(t, name, { viewport: { width: 360, height: 640 } });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  });
}

test("every control has a name", limit, async (t) => {
  const page = await look(t, "violation");
  const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input")]
    .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.[0]?.textContent.trim())).map((e) => e.outerHTML));
  assert.deepEqual(nameless, []);
});

test("the dark scheme is dark", limit, async (t) => {
  const light = async (colorScheme) => {
    const page = await look(t, "stormy", { colorScheme });
    return page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0));
  };
  assert.ok(await light("dark") < 120);
  assert.ok(await light("light") > 700);
});

for (const width of [1280, 360]) {
  test(`without JavaScript there is a still drawing and a list, ${width} wide`, limit, async (t) => {
    const page = await look(t, "violation", { javaScriptEnabled: false, viewport: { width, height: 800 } });
    assert.equal(await page.locator("svg.still").count(), 2);
    assert.ok(await page.locator("svg.still").first().isVisible());
    assert.ok(await page.locator(".story li.violated").first().isVisible());
    assert.equal(await page.locator(".tools:visible, .panels:visible, button:visible").count(), 0);
  });
}

test("100,000 moments can be zoomed and panned", limit, async (t) => {
  const page = await look(t, "large");
  await page.keyboard.press("End");
  await until(page, () => /of 10\d{4}$|of 1\d{5}/.test(document.querySelector(".moment .faint").textContent));
  await repainted(page, () => page.keyboard.press("0"));
  assert.ok(await count(page, ".beats") > 0, "heartbeats are a density");
  const all = await count(page, "*");
  assert.ok(all < 10_000, `and the drawing stays small: ${all}`);
  for (const key of ["+", "+", "ArrowLeft", "+", "ArrowLeft", "-", "+", "+", "ArrowLeft", "+"]) {
    await repainted(page, () => page.keyboard.press(key));
  }
});
