import { createSession } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { exported, useBrowser } from "./shown-page.ts";

const show = useBrowser();

const body = (page: Page, row: number) => page.locator(`.entry[data-row="${row}"] .body`);

/** A page of a session with these texts as messages, in order. */
async function said(...texts: readonly string[]) {
  const session = createSession({ cwd: "/project" });
  const ids = texts.map(
    (content) => session.append({ type: "message", message: { role: "user", content, timestamp: 0 } }).id,
  );
  const { page } = await show(await exported(session));
  /** Opens the entry with a text. */
  const goTo = async (row: number) => {
    await page.evaluate((id) => {
      location.hash = `#/entry/${id}`;
    }, ids[row]!);
    return body(page, row);
  };
  return { page, goTo };
}

describe("Markdown", () => {
  /** Texts beyond the parser's limits for marks or blocks. */
  const hard: Readonly<Record<string, string>> = {
    "emphases and links that do not end": "**a* _b [c](".repeat(600),
    "headings of one letter": "a\n-\n".repeat(4_000),
    "an item of many lines": `- a\n${"  b\n".repeat(5_500)}`,
    "quotes and lists in each other": "> - ".repeat(2_000),
    "addresses in brackets": "(http://a".repeat(1_000),
    "a table of many columns": `${"|a".repeat(4_500)}|\n${"|-".repeat(4_500)}|\n`,
  };
  const mixed = `**before**\n\n${"*a ".repeat(2_000)}\n\n- **after**`;
  const section = (at: number) =>
    `## Part ${at}\n\nSome *words* about \`part_${at}\` and [a link](https://example.org/${at}).\n\n- one\n- **two**\n\n`;

  test("is shown as text if parsing it takes long, and parsed otherwise", async () => {
    const usual = Array.from({ length: 300 }, (_, at) => section(at)).join("");
    const { page, goTo } = await said(mixed, usual, ...Object.values(hard));
    await body(page, 0).getByText("before").waitFor();
    expect(await body(page, 0).locator("strong").allTextContents()).toEqual(["before", "after"]);
    expect((await body(page, 0).locator("p").nth(1).textContent())!.match(/\*a/g)).toHaveLength(2_000);
    await expect.poll(() => body(page, 1).locator("strong").count()).toBe(300);
    expect(await body(page, 1).locator("a").count()).toBe(300);
    for (const [at, [name, text]] of Object.entries(hard).entries()) {
      const shown = await goTo(2 + at);
      await expect.poll(() => shown.textContent(), { message: name }).toContain(text.trim().slice(0, 500));
    }
  });
});

test("a letter with thousands of marks shows some of them; an answer with hundreds of parts shows 200 at first", async () => {
  const session = createSession({ cwd: "/project" });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never });
  say({ role: "user", content: `a${"\u0301".repeat(5_000)} and more` });
  const calls = Array.from({ length: 410 }, (_, at) => ({
    ...{ type: "toolCall", id: `c${at}`, name: "read", arguments: { path: `part-${at}.ts` } },
  }));
  say({ role: "assistant", content: calls });
  const { page } = await show(await exported(session));
  await expect.poll(() => body(page, 0).textContent()).toMatch(/^a\u0301{32} and more\s*$/);
  await expect.poll(() => body(page, 1).locator("details").count()).toBe(200);
  await body(page, 1).getByRole("button", { name: "Show 200 more of 210 parts" }).click();
  await expect.poll(() => body(page, 1).locator("details").count()).toBe(400);
});

describe("find", () => {
  const markedTexts = (page: Page) =>
    page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map((range) => String(range)));

  test("finds words across Markdown marks and code colours", async () => {
    const code = "```ts\nexport const needleName = `a ** b`;\n```";
    const { page } = await said(
      `This is **very** *important*: \`alpha\` and snake\\_case, [a link](https://example.org/x).\n\n${code}`,
    );
    await body(page, 0).waitFor();
    await page.keyboard.press("/");
    const hits = [...["very important", "alpha and snake_case", "const needleName", "a ** b", "a link."]];
    for (const words of hits) {
      await page.locator("#find-field").fill(words);
      await expect.poll(() => page.locator(".find output").textContent()).toBe("1 hit in 1 entry");
      await expect.poll(() => markedTexts(page)).toEqual([words]);
    }
    await page.locator("#find-field").fill("example.org");
    await expect.poll(() => page.locator(".find output").textContent()).toBe("0 hits in 0 entries");
  });

  test("shows more of a long text, and scrolls the button before a later hit into view", async () => {
    const lines = "a line\n".repeat(10_100);
    const { page } = await said(`${lines}the deepest word`, "and more");
    await body(page, 1).waitFor();
    await page.keyboard.press("/");
    await page.locator("#find-field").fill("deepest word");
    const found = page.locator(".find output");
    await expect.poll(() => found.textContent()).toBe("1 hit in 1 entry");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await body(page, 0).textContent())!.length).toBeGreaterThan(60_000);
    const length = (await body(page, 0).textContent())!.length;
    expect(length).toBeLessThan(lines.length);
    const more = body(page, 0).locator("button.more");
    const isSeen = () =>
      more.evaluate((button) => {
        const { top, bottom } = button.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    await expect.poll(isSeen).toBe(true);
  });
});

describe("a text of any length", () => {
  const FIRST_CHARS = 50_000;
  const FIRST_LINES = 500;
  const length = (page: Page, row: number) =>
    body(page, row).evaluate((element) => element.textContent.length);

  test("shows its readable beginning, and more on demand", async () => {
    const lines = "a\n".repeat(10_500);
    const { page } = await said(
      lines,
      "more words ".repeat(18_200),
      `${"-".repeat(39_999)}${"\u{1f333}".repeat(81_000)}`,
    );
    for (const row of [0, 1, 2]) {
      await body(page, row).waitFor();
      expect(await length(page, row)).toBeLessThan(row === 0 ? 2 * FIRST_LINES : FIRST_CHARS);
    }
    expect(await body(page, 2).locator("pre").textContent()).toBe("-".repeat(39_999));
    const all = body(page, 1).getByRole("button");
    expect(await all.textContent()).toBe("Show all 1 line, 200,200 characters");
    const more = body(page, 0).getByRole("button");
    expect(await more.textContent()).toBe("Show more of 10,501 lines, 21,000 characters");
    await more.click();
    await expect.poll(() => length(page, 0)).toBeGreaterThan(20_000);
    expect(await length(page, 0)).toBeLessThan(lines.length);
    await more.click();
    await expect.poll(() => body(page, 0).locator("pre").textContent()).toBe(lines);
    expect(await more.count()).toBe(0);
  });

  test("is bounded in every part of an entry", async () => {
    const long = "x".repeat(60_000);
    const session = createSession({ cwd: "/project" });
    const message = (stored: object) =>
      session.append({ type: "message", message: { timestamp: 0, ...stored } as never });
    const call = (id: string, name: string, args: object) => ({
      type: "toolCall",
      id,
      name,
      arguments: args,
    });
    message({
      role: "assistant",
      stopReason: "error",
      errorMessage: long,
      content: [
        { type: "thinking", thinking: long },
        call("1", "write", { path: "a.ts", content: long }),
        call("2", "edit", { path: "a.ts", oldText: "a\n".repeat(51_000), newText: "b\n".repeat(51_000) }),
        call("3", "edit", { path: "a.ts", oldText: "a".repeat(100_001), newText: "b".repeat(100_001) }),
        call("4", "patch", { patch: `@@ -1 +1 @@\n${"-a\n".repeat(5_000)}` }),
        call("5", "other", { long }),
      ],
    });
    message({
      role: "toolResult",
      toolCallId: "5",
      toolName: "other",
      content: [{ type: "text", text: long }],
    });
    session.append({ type: "custom", customType: long, data: { long } });
    const { page, misdeeds } = await show(await exported(session));
    await page.getByLabel("show all records").check();
    await page.locator(".entry details").nth(6).waitFor();
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll<HTMLDetailsElement>(".entry details")) fold.open = true;
    });
    await page.getByText("Too large to compare line by line").nth(1).waitFor();
    const lengths = await page
      .locator(".entry :is(pre, p.failed, dd)")
      .evaluateAll((parts) => parts.map((part) => part.textContent.length));
    expect(lengths.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...lengths)).toBeLessThan(FIRST_CHARS);
    expect(misdeeds).toEqual([]);
  });
});

test("a summary and a compared command have the same bound", async () => {
  const session = createSession({ cwd: "/project" });
  const message = (stored: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...stored } as never }).id;
  const asked = message({ role: "user", content: "one" });
  const command = "x".repeat(10_000);
  const output = { output: "", exitCode: 0, cancelled: false, truncated: false };
  const ran = message({ role: "bashExecution", command, ...output });
  const summary = `${"y".repeat(210_000)}\n${"- a line\n".repeat(2_100)}`;
  const { id } = session.append({ type: "compaction", summary, firstKeptEntryId: ran, tokensBefore: 9 });
  session.moveTo(asked);
  message({ role: "user", content: "two" });
  const { page } = await show(`${await exported(session)}#/compare`);
  const compared = page.locator(".commands code");
  await compared.waitFor();
  expect((await compared.textContent())!.length).toBeLessThan(2_000);
  await page.evaluate((to) => {
    location.hash = to;
  }, `#/compaction/${id}`);
  const lines = page.locator(".lines > li");
  await lines.first().waitFor();
  expect(await lines.count()).toBe(1_000);
  expect((await lines.first().textContent())!.length).toBeLessThan(50_000);
  await page.getByRole("button", { name: /^Show 1,000 more of 1,\d+ lines$/ }).click();
  await expect.poll(() => lines.count()).toBe(2_000);
});

describe("a text with many hits", () => {
  const looked = (page: Page) =>
    page.evaluate(() => {
      const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
      if (range === undefined) return undefined;
      const row = range.startContainer.parentElement!.closest<HTMLElement>("[data-row]")!.dataset.row;
      const { top, height, left } = range.getBoundingClientRect();
      const on = document.elementFromPoint(left + 2, top + height / 2);
      return { row, at: range.startOffset, isSeen: on?.contains(range.startContainer) ?? false };
    });
  const marked = (page: Page) => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0);

  test("marks 500 hits, and always the current one", async () => {
    // A table with too many cells is shown as one text node.
    const { page } = await said(
      "x",
      `${`${"x ".repeat(600)}\n`.repeat(4)}${`${"|".repeat(80)}\n`.repeat(101)}`,
      "the last x",
    );
    await page.getByRole("button", { name: "Find" }).click();
    await page.locator("#find-field").fill("x");
    await expect.poll(() => page.locator(".find output").textContent()).toBe("2,402 hits in 3 entries");
    await expect.poll(() => marked(page)).toBe(500);
    await page.keyboard.press("Shift+Enter");
    await expect.poll(() => looked(page)).toEqual({ row: "2", at: 9, isSeen: true });
    await page.keyboard.press("Shift+Enter");
    await expect.poll(() => looked(page)).toMatchObject({ row: "1", isSeen: true });
    expect((await looked(page))!.at).toBeGreaterThan(4_000);
    // The page does not scroll back after the user opens another entry.
    await page.locator('.entry[data-row="0"] .address').evaluate((link: HTMLElement) => link.click());
    const place = async () => (await page.locator(".entry.addressed h2").boundingBox())?.y ?? -1;
    const isOnScreen = async () => (await place()) > 0 && (await place()) < 800;
    await expect.poll(isOnScreen).toBe(true);
    await page.waitForTimeout(300);
    expect(await isOnScreen()).toBe(true);
  });
});

test("code is shown without colours if colouring takes long; other code has colours and all its characters", async () => {
  const line = (at: number) => `const part${at} = "<${at}>"; // & so on\n${at % 9 === 0 ? "\n" : ""}`;
  const written: Array<[path: string, content: string]> = [
    ["a.java", "a".repeat(12_000)],
    ["a.ini", "1.".repeat(6_000)],
    ["a.cs", "begin ".repeat(2_000)],
    ["b.cs", `${"begin ".repeat(100)}\n`.repeat(60)],
    ["a.md", "[a](".repeat(3_000)],
    ["a.ts", Array.from({ length: 350 }, (_, at) => line(at)).join("")],
  ];
  const session = createSession({ cwd: "/project" });
  const content = written.map(([path, text], at) => ({
    ...{ type: "toolCall", id: `${at}`, name: "write", arguments: { path, content: text } },
  }));
  session.append({ type: "message", message: { role: "assistant", content, timestamp: 0 } as never });
  const { page } = await show(await exported(session));
  const folds = page.locator(".entry details");
  for (const [at, [path, text]] of written.entries()) {
    await folds.nth(at).locator("summary").click();
    const code = folds.nth(at).locator(".code code").first();
    await expect.poll(() => code.textContent(), { message: path }).toBe(text);
    const coloured = await code.locator("span").count();
    if (path === "a.ts") expect(await code.locator(".hljs-keyword").count()).toBeGreaterThan(50);
    else if (!text.includes("\n")) expect(coloured, path).toBe(0);
    await folds.nth(at).locator("summary").click();
  }
});
