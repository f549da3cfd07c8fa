import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { hostileSession } from "./hostile-session.ts";
import { exported, useBrowser } from "./shown-page.ts";

const show = useBrowser();

/** Forbidden elements and attributes, and forbidden targets of links and images, in a page. */
function forbidden(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const elements = [...document.body.querySelectorAll("*")];
    for (const element of elements) {
      const name = element.localName;
      if (/^(?:iframe|object|embed|form|base|meta|link|style|video|audio|math|frame|portal)$/.test(name))
        found.push(`<${name}>`);
      if (
        element instanceof HTMLScriptElement &&
        !/^application\/(?:octet-stream|json)$/.test(element.type) &&
        !isOwn(element)
      )
        found.push(`<script> ${element.textContent.slice(0, 80)}`);
      for (const attribute of element.attributes) {
        if (attribute.name.startsWith("on")) found.push(`${name} ${attribute.name}`);
        if (attribute.name === "href" && !/^(?:#|https?:|mailto:)/.test(attribute.value))
          found.push(`${name} to ${attribute.value.slice(0, 80)}`);
        if (attribute.name === "src" && !/^data:image\/(?:png|jpeg|gif|webp);base64,/.test(attribute.value))
          found.push(`${name} from ${attribute.value.slice(0, 80)}`);
      }
      if (name === "a" && /^https?:/.test(element.getAttribute("href") ?? ""))
        if (!/noopener/.test(element.getAttribute("rel") ?? "")) found.push("a link that gives itself away");
    }
    if ("ran" in window) found.push("something ran");
    return found;

    /** The bundle is the only script, and is before the chunks. */
    function isOwn(element: Element): boolean {
      return element === document.querySelector("body > script:not([type])");
    }
  });
}

/** Waits until the page has drawn the latest change. */
function drawn(page: Page): Promise<void> {
  return page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  );
}

/** Every part of the transcript, with everything opened, from its first entry to its last. */
async function readThrough(page: Page, look: () => Promise<void>): Promise<void> {
  const scroller = page.locator("main section .scroller, main .scroller").last();
  await scroller.waitFor();
  for (let step = 0; step < 400; step++) {
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll<HTMLDetailsElement>("main details:not([open])"))
        fold.open = true;
    });
    await drawn(page);
    await look();
    const isAtEnd = await scroller.evaluate((element) => {
      const before = element.scrollTop;
      element.scrollTop += element.clientHeight;
      return element.scrollTop - before < 2;
    });
    if (isAtEnd) return;
  }
  throw new Error("The transcript has no end.");
}

test("every view shows all texts of a session as text", async () => {
  const session = hostileSession();
  const { page, misdeeds } = await show(await exported(session), { viewport: { width: 640, height: 6000 } });
  const found = new Set<string>();
  const look = async () => {
    for (const each of await forbidden(page)) found.add(each);
  };
  await page.goto(`${page.url().split("#")[0]}#/entry/${encodeURIComponent(session.path()[0]!.id)}`);
  await page.locator(".entry.addressed").first().waitFor();
  await readThrough(page, look);
  for (const [view, ready] of [
    ["#/tree", "main .tree"],
    ["#/context", "main canvas"],
    ["#/compaction/all", "main article"],
    ["#/compare", "main section"],
  ] as const) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, view);
    await page.locator(ready).first().waitFor();
    await drawn(page);
    await look();
  }
  const ids = session.path().filter(({ type }) => type === "compaction" || type === "branch_summary");
  for (const { id } of ids) {
    await page.evaluate(
      (hash) => {
        location.hash = hash;
      },
      `#/compaction/${encodeURIComponent(id)}`,
    );
    await drawn(page);
    await look();
  }
  expect([...found]).toEqual([]);
  expect(misdeeds).toEqual([]);
});
