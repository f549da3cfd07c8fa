import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { exported, useBrowser } from "./shown-page.ts";
import { type WorkSession, workSession } from "./work-session.ts";

const show = useBrowser();
let work: WorkSession;
let url: string;

beforeAll(async () => {
  work = workSession();
  url = await exported(work.session);
});

/** A window of 1280 x 1024 at 400 % zoom, and low windows. */
const windows = [
  { width: 320, height: 256 },
  { width: 1280, height: 256 },
  { width: 400, height: 420 },
] as const;

/** Visible height of an element in pixels, after scrolling to it. */
const seenPixels = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => {
      element.scrollIntoView({ block: "nearest" });
      let { top, bottom } = element.getBoundingClientRect();
      for (let box = element.parentElement; box !== null; box = box.parentElement) {
        if (getComputedStyle(box).overflowY === "visible") continue;
        const around = box.getBoundingClientRect();
        [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
      }
      return Math.min(bottom, innerHeight) - Math.max(top, 0);
    });

test("every list is readable, and every view scrolls to its end", async () => {
  const { page } = await show(url);
  for (const [hash, element, pixels] of [
    ["#/transcript", ".transcript .scroller", 120],
    ["#/tree", "main .tree .scroller", 120],
    ["#/context", "main section > :last-child", 10],
    [`#/compaction/${work.id("compaction")}`, "main article > :last-child", 10],
    ["#/compare", "main .sides", 10],
  ] as const) {
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await page.locator(element).first().waitFor();
    for (const viewport of windows) {
      await page.setViewportSize(viewport);
      const message = `${hash} in ${viewport.width} x ${viewport.height}`;
      await expect.poll(() => seenPixels(page, element), { message }).toBeGreaterThan(pixels);
    }
  }
});

test("in a short window, an address and a hit scroll their target into view", async () => {
  const { page, misdeeds } = await show(`${url}#/entry/${work.id("turn 25")}`);
  await page.setViewportSize(windows[0]);
  await page.reload();
  const seen = () =>
    page.locator(".entry.addressed h2").evaluate((element) => {
      const { left, top } = element.getBoundingClientRect();
      return document.elementFromPoint(left + 2, top + 4) === element;
    });
  await expect.poll(seen).toBe(true);
  await page.keyboard.press("/");
  await page.keyboard.type("buried treasure");
  await expect.poll(() => page.locator(".find output").textContent()).toBe("1 hit in 1 entry");
  await page.keyboard.press("Enter");
  await expect
    .poll(() =>
      page.evaluate(() => {
        const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
        if (range === undefined) return undefined;
        const { top, height, left } = range.getBoundingClientRect();
        const on = document.elementFromPoint(left + 2, top + height / 2);
        return on?.contains(range.startContainer.parentElement) ?? false;
      }),
    )
    .toBe(true);
  expect(misdeeds).toEqual([]);
});

test("a short window shows all keys", async () => {
  const { page } = await show(url);
  await page.setViewportSize(windows[0]);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  for (const end of [".keys h2", ".keys button"])
    await expect.poll(() => seenPixels(page, end), { message: end }).toBeGreaterThan(10);
});
