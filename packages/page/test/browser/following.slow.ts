import { createSession, MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { type ServedPage, SessionPage, servePage } from "../../src/index.ts";
import { useBrowser } from "./shown-page.ts";

const show = useBrowser();
const served: ServedPage[] = [];
afterEach(async () => {
  for (const page of served.splice(0)) await page.close();
});

class Source {
  session: Session = createSession({ cwd: "/project" });
  isThere = true;
  changes = 0;
  page: SessionPage | undefined;

  say(content: string): void {
    this.session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
    this.changes += 1;
  }

  state(): string {
    return String(this.changes);
  }

  open(): SessionPage {
    if (!this.isThere) throw new Error("The file is gone.");
    this.page = this.page?.reopen(this.session) ?? new SessionPage(this.session);
    return this.page;
  }
}

async function followed(...said: string[]) {
  const source = new Source();
  for (const text of said) source.say(text);
  const page = await servePage({ source });
  served.push(page);
  const shown = await show(page.url);
  return { source, url: page.url, ...shown };
}

const entry = (page: Page, text: string) => page.locator(".transcript .entry").filter({ hasText: text });

test("the page follows an unreadable session again once it is readable", async () => {
  const { source, page } = await followed("one");
  await entry(page, "one").waitFor();
  source.isThere = false;
  source.say("two");
  await page.getByText("The session file cannot be read right now.").waitFor();
  source.isThere = true;
  source.say("three");
  await entry(page, "three").waitFor();
  await page.getByText("Live: this page follows the session").waitFor();
});

test("the page shows no text of a session that another one replaced", async () => {
  const { source, page } = await followed("the old words", "the second old words");
  await entry(page, "the second old words").waitFor();
  source.session = createSession({ cwd: "/project" });
  source.say("the new words");
  source.say("more new words");
  await entry(page, "more new words").waitFor();
  expect(await page.locator("body").textContent()).not.toContain("old words");
});

test("entries that failed to load appear later, and a rewritten session appears with its new text and name", async () => {
  const { source, page } = await followed(
    ...Array.from({ length: 200 }, (_, at) => `word ${at} ${"x".repeat(2_000)}`),
  );
  await entry(page, "word 0 xx").waitFor();
  source.isThere = false;
  source.changes += 1;
  await page.getByRole("button", { name: "End" }).click();
  const unread = page.getByText("This entry could not be loaded.");
  await unread.first().waitFor();
  source.isThere = true;
  await expect.poll(() => unread.count(), { timeout: 15_000 }).toBe(0);
  await page.getByRole("button", { name: "End" }).click();
  await entry(page, "word 199 xx").waitFor();
  const rewritten = source.session.entries().map((each) => JSON.parse(JSON.stringify(each)));
  rewritten[0].message.content = "another word";
  const store = new MemoryStore();
  for (const line of [source.session.header, ...rewritten]) store.append(`${JSON.stringify(line)}\n`);
  source.session = openSession({ store });
  source.page = undefined;
  source.changes += 1;
  await entry(page, "another word").waitFor();
  source.session.append({ type: "session_info", name: "A new name" });
  source.changes += 1;
  await expect.poll(() => page.title()).toBe("A new name");
});

test("find includes new entries and keeps the current hit; Escape returns the focus", async () => {
  const { source, page } = await followed("a fish", "no bird", "a fish and a fish");
  await page.getByRole("button", { name: "Find" }).click();
  await page.locator("#find-field").fill("fish");
  const found = page.locator(".find output");
  await expect.poll(() => found.textContent()).toBe("3 hits in 2 entries");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect.poll(() => found.textContent()).toBe("2 of 3 hits in 2 entries");
  source.say("a last fish");
  await expect.poll(() => found.textContent()).toBe("2 of 4 hits in 3 entries");
  await page.locator("#find-field").press("Escape");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Find/);
});
