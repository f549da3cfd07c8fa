import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createSession } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { exported, type ShownPage, useBrowser } from "./shown-page.ts";
import { type WorkSession, workSession } from "./work-session.ts";

const show = useBrowser();
let work: WorkSession;
let shown: ShownPage;
let page: Page;

beforeAll(async () => {
  work = workSession();
  shown = await show(`${await exported(work.session)}#/tree`);
  ({ page } = shown);
});

const line = (text: string | RegExp) => page.locator("main .tree .line").filter({ hasText: text });
const count = () => page.locator("main .tree .tools output").textContent();

test("the tree shows turns, labels, ends of branches and the current position", async () => {
  // 40 turns and the one with a picture, one of another branch, two ends of branches, and a compaction.
  await expect.poll(count).toBe("45 entries");
  await line("Question 3:").getByText("before the parser").waitFor();
  await page.locator("main .tree .scroller").evaluate((scroller) => {
    scroller.scrollTop = scroller.scrollHeight;
  });
  await line("Another way: try a cache.").waitFor();
  await expect.poll(() => line("line 1 of part 40").textContent()).toContain("here");
});

test("filters and search choose the visible lines", async () => {
  await page.getByLabel("Show").selectOption("labelled");
  await expect.poll(count).toBe("1 entry");
  await page.getByLabel("Show").selectOption("compactions");
  await expect.poll(count).toBe("1 entry");
  await page.getByLabel("Show").selectOption("all");
  await page.getByLabel("Search").fill("part 17");
  await expect.poll(count).toBe("3 entries");
  await page.getByLabel("Search").fill("nothing is like this");
  await page.getByText("No matches.").waitFor();
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Show").selectOption("turns");
  await expect.poll(count).toBe("45 entries");
});

test("arrow keys move between lines, and Enter opens the entry", async () => {
  await page.locator("main .tree .scroller").evaluate((scroller) => {
    scroller.scrollTop = 0;
  });
  await line("Question 1:").locator(".to").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator(".entry.addressed").getByText("Question 2").waitFor();
  await page.keyboard.press("b");
  await page.locator("main .tree .tools output").waitFor();
});

test("compares a branch with the current position", async () => {
  await page.getByLabel("Search").fill("part 41");
  await line("Part 41").getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "Compare branches" }).waitFor();
  const text = () => page.locator("section.compare").textContent();
  await expect.poll(text).toContain("A and B are on different branches.");
  const a = page.getByRole("article", { name: "Side A" });
  const b = page.getByRole("article", { name: "Side B" });
  expect(await a.textContent()).toContain("2 entries, 1 turn, 0 compactions");
  expect(await b.textContent()).toContain("30 entries, 10 turns, 0 compactions");
  expect(await b.textContent()).toContain("src/part-33.ts");
  await page.goBack();
  await page.getByLabel("Search").fill("");
});

/** Two questions on two branches, below the same record or each at a root. */
async function partedEarly(record?: string): Promise<ShownPage> {
  const session = createSession({ cwd: "/project" });
  const root = record === undefined ? null : session.append({ type: "custom", customType: record }).id;
  for (const content of ["One way", "The other way"]) {
    session.moveTo(root);
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  }
  return show(`${await exported(session)}#/compare`);
}

test("compares branches that part at a record before the first message", async () => {
  const { page: own, misdeeds } = await partedEarly("bonsai.import");
  await own.getByRole("article", { name: "Side B" }).getByText("The other way").first().waitFor();
  const text = await own.locator("section.compare").textContent();
  expect(text).toContain("They share 1 entry, up to record: ");
  expect(misdeeds).toEqual([]);
});

test("compares branches with different roots", async () => {
  const { page: own, misdeeds } = await partedEarly();
  await own.getByRole("article", { name: "Side A" }).getByText("One way").first().waitFor();
  expect(await own.locator("section.compare").textContent()).toContain("A and B share no entries.");
  expect(misdeeds).toEqual([]);
});

test("a session with one branch offers no choice of branches", async () => {
  const session = createSession({ cwd: "/project" });
  session.append({ type: "message", message: { role: "user", content: "One way", timestamp: 0 } });
  session.moveTo(null);
  session.append({ type: "custom", customType: "a record" });
  const { page: own } = await show(`${await exported(session)}#/compare`);
  await own.getByText("This session has one branch.").waitFor();
  expect(await own.locator(".compare :is(select, article)").count()).toBe(0);
});

test("a comparison that fails to load shows an error", async () => {
  const file = fileURLToPath(await exported(work.session));
  const html = await readFile(file, "utf8");
  await writeFile(file, html.replace(/(<script[^>]* id="compare-\d+"[^>]*>)[^<]*/, "$1broken"));
  const { page: own } = await show(`${pathToFileURL(file).href}#/compare`);
  await own.getByText("Cannot compare: the comparison could not be read.").waitFor();
});

test("the pages made no network request, error or warning", () => {
  expect(shown.misdeeds).toEqual([]);
});
