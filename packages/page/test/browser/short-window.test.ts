import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { exported, type ShownPage, useBrowser } from "./shown-page.ts";
import { type WorkSession, workSession } from "./work-session.ts";

const show = useBrowser();
/** A browser beside other tests takes its time. */
const patient = { timeout: 15_000 };
let work: WorkSession;
let url: string;

beforeAll(async () => {
  work = workSession();
  url = await exported(work.session);
});

/** What a window of 1280 x 1024 is to a page that is magnified four times over; and a low one. */
const windows = [
  { width: 320, height: 256 },
  { width: 1280, height: 256 },
  { width: 400, height: 420 },
] as const;

const shownAt = (hash: string, viewport: (typeof windows)[number]): Promise<ShownPage> =>
  show(`${url}${hash}`, { viewport });

/** How much of an element is on the screen, in pixels of its height, after it was scrolled to. */
const seenPixels = async (page: Page, selector: string) =>
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

test.for(windows)("in a window of $width x $height every list can be read", async (viewport) => {
  for (const [hash, list] of [
    ["#/transcript", ".transcript .scroller"],
    ["#/tree", "main .tree .scroller"],
  ] as const) {
    const { page } = await shownAt(hash, viewport);
    await page.locator(list).waitFor();
    expect(await seenPixels(page, list), hash).toBeGreaterThan(120);
    await page.context().close();
  }
});

test.for(windows)(
  "in a window of $width x $height every view can be scrolled to its end",
  async (viewport) => {
    for (const hash of ["#/context", `#/compaction/${work.id("compaction")}`, "#/compare"]) {
      const { page } = await shownAt(hash, viewport);
      await page.locator("main h2").first().waitFor();
      expect(await seenPixels(page, "main section > :last-child"), hash).toBeGreaterThan(10);
      await page.context().close();
    }
  },
);

test("in a short window an address, and a hit, lead to what can be seen", async () => {
  const { page, misdeeds } = await shownAt(`#/entry/${work.id("turn 25")}`, windows[0]);
  const seen = () =>
    page.locator(".entry.addressed h2").evaluate((element) => {
      const { left, top } = element.getBoundingClientRect();
      return document.elementFromPoint(left + 2, top + 4) === element;
    });
  await expect.poll(seen, patient).toBe(true);
  await page.keyboard.press("/");
  await page.keyboard.type("buried treasure");
  await expect.poll(() => page.locator(".find output").textContent(), patient).toBe("1 hit in 1 entry");
  await page.keyboard.press("Enter");
  await expect
    .poll(
      () =>
        page.evaluate(() => {
          const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
          if (range === undefined) return undefined;
          const { top, height, left } = range.getBoundingClientRect();
          const on = document.elementFromPoint(left + 2, top + height / 2);
          return on?.contains(range.startContainer.parentElement) ?? false;
        }),
      patient,
    )
    .toBe(true);
  expect(misdeeds).toEqual([]);
});

test("the keys can all be read in a short window", async () => {
  const { page } = await shownAt("#/transcript", windows[0]);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  for (const end of [".keys h2", ".keys button"])
    expect(await seenPixels(page, end), end).toBeGreaterThan(10);
});
