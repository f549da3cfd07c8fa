import { createSession } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { exported, type ShownPage, useBrowser } from "./shown-page.ts";

const COMMAND = "cd /project && grep -rn old_name packages | sort | uniq -c | head -20";
const PATH = "/project/packages/services/pricing/rules/implementation/discounts/discount-rules.ts";
const TABLE = `| File | Count | Note | Size |
|---|---:|:---:|:---|
| a.ts | 12 | x | 3 |

- [x] done
- [ ] open`;

const show = useBrowser();
let shown: ShownPage;
let page: Page;
let latestId: string;

beforeAll(async () => {
  const { session, id } = readSession();
  latestId = id;
  const modelSizes = () => ({ windowTokens: 200_000, thresholdTokens: 180_000 });
  shown = await show(await exported(session, { modelSizes }));
  ({ page } = shown);
});

/** An import with texts of its program, calls with long arguments, a table and two compactions. @returns the latest */
function readSession() {
  const session = createSession({ cwd: "/project" });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never }).id;
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const answer = (input: number, ...content: object[]) => {
    const usage = { input, output: 10, cacheRead: 0, cacheWrite: 0, cost: { total: 0.1 } };
    say({ role: "assistant", provider: "made", model: "actor", usage, content });
  };
  const result = (toolCallId: string, toolName: string, text: string) =>
    say({ role: "toolResult", toolCallId, toolName, isError: false, content: [{ type: "text", text }] });
  for (const text of [
    "<command-name>/model</command-name>",
    "<local-command-stdout>Set</local-command-stdout>",
  ])
    session.append({ type: "custom_message", customType: "other.injected", content: text, display: false });
  const first = say({ role: "user", content: "Rename `old_name` in __init__.py, please." });
  answer(4_000, { type: "text", text: TABLE }, call("1", "bash", { command: COMMAND }));
  result("1", "bash", "packages/a.ts:1: old_name\npackages/b.ts:1: old_name");
  answer(6_000, call("2", "read", { path: PATH }), call("3", "bash", { command: COMMAND }));
  result("2", "read", "export const rules = [];\nexport const more = [];");
  result("3", "bash", `${"word ".repeat(60)}\nmore`);
  const compact = (summary: string) =>
    session.append({ type: "compaction", summary, firstKeptEntryId: first, tokensBefore: 9_000 }).id;
  compact("## Goal\n\nThe first one.");
  const id = compact(
    "## Goal\n\nRename **old_name**.\n\n- one `item`\n  - below it\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n```ts\n## no heading\n```",
  );
  answer(30_000, { type: "text", text: "Done." });
  return { session, id };
}

const at = (hash: string) =>
  page.evaluate((to) => {
    location.hash = to;
  }, hash);

const alignments = (selector: string) =>
  page
    .locator(selector)
    .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign.replace("start", "left")));

test("a table column has its declared alignment, and a task has a box", async () => {
  await page.locator(".markdown table").waitFor();
  const declared = ["left", "right", "center", "left"];
  expect(await alignments(".markdown td")).toEqual(declared);
  expect(await alignments(".markdown th")).toEqual(declared);
  const boxes = page.locator(".markdown .task");
  expect(await boxes.evaluateAll((found) => found.map((box) => box.ariaLabel))).toEqual(["done", "open"]);
});

test("a tool result shows its output, without the command of its call", async () => {
  const results = page.locator(".entry.result .body");
  await expect.poll(() => results.count()).toBe(3);
  const texts = await results.allTextContents();
  expect(texts[0]).toMatch(/^bash packages\/a\.ts:1: old_name/);
  expect(texts[1]).toMatch(/^read …\/discount-rules\.ts export const rules/);
  expect(texts[2]).toMatch(/^bash cd \/project && grep -rn… word/);
  expect(texts[2]).toMatch(/word… 2 lines$/);
  expect(texts.join()).not.toContain(COMMAND);
});

test("a click shows the texts that a program wrote", async () => {
  const outline = page.locator(".side-tree .line");
  await expect.poll(() => outline.count()).toBeGreaterThan(2);
  expect((await outline.allTextContents()).join()).not.toMatch(/<|note/);
  const transcript = () => page.locator(".transcript .scroller").textContent();
  expect(await transcript()).not.toContain("command-name");
  await page.getByLabel("show all records").check();
  await expect.poll(transcript).toContain("<command-name>/model</command-name>");
  await page.getByLabel("show all records").uncheck();
});

test("the latest compaction is open, and its summary is Markdown with sources", async () => {
  await at("#/compaction/all");
  await page.locator(".lines").waitFor();
  const current = page.locator(".summaries [aria-current]");
  expect(await current.getAttribute("href")).toBe(`#/compaction/${latestId}`);
  const lines = page.locator(".lines");
  expect(await lines.locator("h4").allTextContents()).toEqual(["Goal"]);
  expect(await lines.locator("strong").textContent()).toBe("old_name");
  expect(await lines.locator("ul code").textContent()).toBe("item");
  expect(await lines.locator("td").allTextContents()).toEqual(["1", "2"]);
  expect(await lines.locator("pre").textContent()).toMatch(/^## no heading\s*$/);
  await at(`#/entry/${latestId}`);
  await page.locator(".entry.addressed summary").getByText("Summary").click();
  await page.locator(".entry.addressed h2").getByText("Goal").waitFor();
});

test("a cut row ends with a whole word and an ellipsis, and shows the ends of paths", async () => {
  await at("#/context");
  await page.locator(".seen li").first().waitFor();
  const rows = await page.locator(".seen a").allTextContents();
  expect(rows.find((row) => row.includes("word word"))).toMatch(/ word…$/);
  expect(rows.find((row) => row.startsWith("agent read"))).toMatch(
    /^agent read …\/\S*\/discount-rules\.ts; bash/,
  );
});

test("the legend names the drawn parts, and the bars have no gaps", async () => {
  await at("#/context");
  await page.locator("canvas").waitFor();
  const legend = await page.locator(".legend").textContent();
  // The window is far above the highest request; only one price class occurs.
  for (const text of ["window", "threshold", "Cache"]) expect(legend).not.toContain(text);
  expect(legend).toContain("Uncached");
  expect(legend).toContain("2 compactions");
  expect(legend).toContain("total dollars");
  expect(await barGaps()).toBe(0);
});

/** Counts pixels of the ground inside the last bar, where the line of costs crosses it. */
function barGaps(): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector("canvas")!;
    const over = document.querySelector<HTMLElement>(".u-over")!;
    const context = canvas.getContext("2d")!;
    const x = over.offsetLeft + (over.offsetWidth * 3) / 4 + 6;
    const { data } = context.getImageData(x, over.offsetTop, 1, over.offsetHeight - 2);
    let gaps = 0;
    let isInBar = false;
    for (let at = 0; at < data.length; at += 4) {
      const [red, green, blue, alpha] = data.slice(at, at + 4);
      const isOrange = red! > 150 && green! < 130 && blue! < 80;
      isInBar ||= isOrange;
      if (isInBar && (alpha! < 200 || (red! > 240 && green! > 240 && blue! > 240))) gaps += 1;
    }
    return isInBar ? gaps : -1;
  });
}

test("in a window 400 pixels wide, the header takes at most an eighth of the screen", async () => {
  await page.setViewportSize({ width: 400, height: 800 });
  const height = () => page.locator(".page-head").evaluate((head) => head.getBoundingClientRect().height);
  await expect.poll(height).toBeLessThanOrEqual(100);
});

test("the pages made no network request, error or warning", () => {
  expect(shown.misdeeds).toEqual([]);
});
