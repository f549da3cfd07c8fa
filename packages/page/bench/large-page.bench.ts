import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { entryTexts, openSession } from "@bonsai-agent/session";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import type { Browser, Page } from "playwright-core";
import { pageHtml, SessionPage } from "../src/index.ts";
import { chromiumProgram, launch } from "../test/browser/chromium.ts";

const SIZES = [
  { entries: 5_000, compactions: 2 },
  { entries: 100_000, compactions: 20 },
];
const STEPS = 240;

/** A long session as a page: written, opened, scrolled and looked through; against a page that holds every entry as text. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  const browser = await launch(await chromiumProgram());
  try {
    const rows: string[][] = [];
    for (const size of SIZES) rows.push(...(await sizeRows(folder, browser, size)));
    return {
      title: "A long session as a page, in Chromium",
      columns: [
        "session",
        "page",
        "file",
        "written",
        "first paint",
        "in full",
        "longest frame",
        "memory",
        "found",
        "tree",
        "chart",
      ],
      rows,
      notes: [
        "first paint: of the session's own text; in full: its first entry, asked for from outside; longest frame: of 240 steps of 600 pixels",
        "memory: the heap after that; found: a word that stands nowhere; tree, chart: to the first drawing",
        "the other page holds each entry's text in an element of its own",
      ],
    };
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function sizeRows(folder: string, browser: Browser, size: (typeof SIZES)[number]): Promise<string[][]> {
  const file = join(folder, "session.jsonl");
  const { bytes } = generateSession({ file, averageBytes: 700, ...size });
  const name = `${size.entries.toLocaleString("en")} entries, ${megabytes(bytes)}`;
  const ours = join(folder, "ours.html");
  const naive = join(folder, "naive.html");
  const oursMs = await timed(() => written(ours, pageHtml(new SessionPage(openSession(file)))));
  const naiveMs = await timed(() => written(naive, naiveHtml(file)));
  return [
    [name, "ours", megabytes(statSync(ours).size), ms(oursMs), ...(await measured(browser, ours, true))],
    [
      name,
      "every entry drawn",
      megabytes(statSync(naive).size),
      ms(naiveMs),
      ...(await measured(browser, naive, false)),
    ],
  ];
}

async function measured(browser: Browser, file: string, isOurs: boolean): Promise<string[]> {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    const paintMs = await timed(async () => {
      await page.goto(pathToFileURL(file).href, { waitUntil: "commit" });
      await page
        .locator(isOurs ? ".entry .body" : "article")
        .first()
        .waitFor();
    });
    await page.waitForLoadState("load");
    const { frameMs, heapBytes } = await scrolled(page);
    const figures = [ms(await firstPaintMs(page)), ms(paintMs), ms(frameMs), megabytes(heapBytes)];
    if (!isOurs) return [...figures, "", "", ""];
    return [
      ...figures,
      ms(await foundMs(page)),
      ms(await viewMs(page, "#/tree", "main > .tree .line")),
      ms(await viewMs(page, "#/context", "main canvas")),
    ];
  } finally {
    await context.close();
  }
}

/** As the browser has it, from the beginning of the navigation. */
function firstPaintMs(page: Page): Promise<number> {
  return page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  );
}

function scrolled(page: Page): Promise<{ frameMs: number; heapBytes: number }> {
  return page.evaluate(async (steps) => {
    const scroller = document.querySelector(".transcript .scroller") ?? document.scrollingElement!;
    let frameMs = 0;
    for (let step = 0; step < steps; step += 1) {
      scroller.scrollTop += 600;
      const started = performance.now();
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frameMs = Math.max(frameMs, performance.now() - started);
    }
    const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
    return { frameMs, heapBytes: memory.usedJSHeapSize };
  }, STEPS);
}

function foundMs(page: Page): Promise<number> {
  return timed(async () => {
    await page.keyboard.press("/");
    await page.locator("#find-field").fill("nowhere to be found");
    await page.locator(".find output", { hasText: /^0 hits in 0 entries$/ }).waitFor({ timeout: 120_000 });
  });
}

async function viewMs(page: Page, hash: string, ready: string): Promise<number> {
  return timed(async () => {
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await page.locator(ready).first().waitFor();
  });
}

function* naiveHtml(file: string): Generator<string> {
  yield "<!doctype html><meta charset=utf-8><body>";
  for (const entry of openSession(file).entries()) {
    const text = [...entryTexts(entry)].join("\n");
    yield `<article><pre>${text.replace(/[&<]/g, (sign) => `&#${sign.charCodeAt(0)};`)}</pre></article>`;
  }
}

function written(file: string, pieces: Iterable<string>): Promise<void> {
  return pipeline(Readable.from(pieces), createWriteStream(file));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function ms(value: number): string {
  return `${Math.round(value).toLocaleString("en")} ms`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
