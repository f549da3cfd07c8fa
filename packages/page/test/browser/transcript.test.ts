import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { exported, type ShownPage, useBrowser } from "./shown-page.ts";
import { type WorkSession, workSession } from "./work-session.ts";

const show = useBrowser();
let work: WorkSession;
let shown: ShownPage;
let page: Page;
let url: string;

beforeAll(async () => {
  work = workSession();
  url = await exported(work.session);
  shown = await show(url);
  ({ page } = shown);
});

const at = (hash: string) =>
  page.evaluate((to) => {
    location.hash = to;
  }, hash);
const entry = (name: string) => page.locator(`.entry:has(a[href="#/entry/${work.id(name)}"])`);
/** Pixels of an entry below the upper edge of the list. */
const offset = async (name: string) => {
  const [own, list] = [
    await entry(name).boundingBox(),
    await page.locator(".transcript .scroller").boundingBox(),
  ];
  return Math.round(own!.y - list!.y);
};
const found = () => page.locator(".find output").textContent();
/** Text of the current hit, and whether it is on the screen. */
const looked = () =>
  page.evaluate(() => {
    const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
    if (range === undefined) return undefined;
    const { top, height, left } = range.getBoundingClientRect();
    const on = document.elementFromPoint(left + 2, top + height / 2);
    return { text: range.toString(), isSeen: on?.contains(range.startContainer.parentElement) ?? false };
  });

describe("the transcript", () => {
  test("an address opens its entry, which does not move while its neighbours load", async () => {
    for (const name of ["result 12", "turn 39"]) {
      await at(`#/entry/${work.id(name)}`);
      await page.reload();
      await entry(name).waitFor();
      await expect.poll(() => offset(name).catch(() => undefined)).toBeGreaterThanOrEqual(-2);
      await page.waitForTimeout(150);
      const there = await offset(name);
      // The last entries cannot scroll to the top.
      if (name !== "turn 39") expect(Math.abs(there)).toBeLessThan(3);
      await page.waitForTimeout(150);
      expect(await offset(name)).toBe(there);
    }
  });

  test("the keyboard opens folded parts, and they stay open after scrolling away and back", async () => {
    await at(`#/entry/${work.id("answer 4")}`);
    const thinking = entry("answer 4").locator("details.thinking");
    await thinking.locator("summary").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => thinking.textContent()).toContain("a hidden thought");
    await at(`#/entry/${work.id("turn 38")}`);
    await entry("turn 38").waitFor();
    await entry("answer 4").waitFor({ state: "detached" });
    await at(`#/entry/${work.id("answer 4")}`);
    await expect.poll(() => thinking.textContent()).toContain("a hidden thought");
  });

  test("entries that load above the screen do not move the visible ones", async () => {
    await at(`#/entry/${work.id("turn 36")}`);
    await entry("turn 36").waitFor();
    await page.locator(".transcript .scroller").hover();
    const worst = await page.locator(".transcript .scroller").evaluate(async (scroller) => {
      scroller.dispatchEvent(new WheelEvent("wheel"));
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      let most = 0;
      for (let step = 0; step < 40; step += 1) {
        const top = scroller.getBoundingClientRect().top;
        const item = [...scroller.querySelectorAll("li")].find(
          (each) => each.getBoundingClientRect().top > top + 60,
        )!;
        const before = item.getBoundingClientRect().top;
        const by = Math.min(150, scroller.scrollTop);
        scroller.scrollTop -= by;
        for (let wait = 0; wait < 4; wait += 1) await frame();
        if (item.isConnected) most = Math.max(most, Math.abs(item.getBoundingClientRect().top - before - by));
      }
      return Math.round(most);
    });
    expect(worst).toBeLessThan(4);
  });

  test("find counts folded and cut texts, marks hits during typing, and moves from hit to hit", async () => {
    await at(`#/entry/${work.id("turn 1")}`);
    await page.locator(".transcript .scroller").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("buried treasure");
    await expect.poll(found).toBe("1 hit in 1 entry");
    await page.keyboard.press("Enter");
    await expect.poll(looked).toEqual({ text: "buried treasure", isSeen: true });
    expect(await found()).toBe("1 of 1 hit in 1 entry");
    await page.locator("#find-field").fill("a hidden thought");
    await expect.poll(found).toBe("40 hits in 40 entries");
    const length = await page.evaluate(() => history.length);
    for (let step = 0; step < 3; step += 1) {
      await page.keyboard.press("Enter");
      await expect.poll(looked).toEqual({ text: "a hidden thought", isSeen: true });
    }
    expect(await found()).toBe("3 of 40 hits in 40 entries");
    await page.keyboard.press("Shift+Enter");
    await expect.poll(found).toBe("2 of 40 hits in 40 entries");
    expect(await page.evaluate(() => history.length)).toBe(length);
    // Find ignores ids, because no text contains them.
    await page.locator("#find-field").fill(work.id("turn 8"));
    await expect.poll(found).toBe("0 hits in 0 entries");
    await page.locator("#find-field").fill("question 2");
    await expect.poll(() => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0)).toBeGreaterThan(0);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0)).toBe(0);
  });

  test("a masked result names the time of its mask and links to it; a picture is visible", async () => {
    await at(`#/entry/${work.id("result 2")}`);
    const masked = entry("result 2").locator(".masked");
    await expect.poll(() => masked.textContent()).toMatch(/^masked for the model since /);
    await masked.click();
    await page.locator(".entry.addressed.mask").waitFor();
    await at(`#/entry/${work.id("picture")}`);
    const picture = entry("picture").locator("img");
    await picture.waitFor();
    expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  });
});

test("the pages made no network request, error or warning", () => {
  expect(shown.misdeeds).toEqual([]);
});
