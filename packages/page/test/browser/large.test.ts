import { createSession } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { exported, useBrowser } from "./shown-page.ts";

const show = useBrowser();

/** A page of a session in which each text was said, one after the other. */
async function said(...texts: readonly string[]): Promise<Page> {
  const session = createSession({ cwd: "/project" });
  for (const content of texts)
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  const { page } = await show(await exported(session));
  return page;
}

const body = (page: Page, row: number) => page.locator(`.entry[data-row="${row}"] .body`);

describe("Markdown that takes its parser long", () => {
  const hard: Readonly<Record<string, string>> = {
    "emphases and links that do not end": "**a* [".repeat(3_000),
    "emphases that do not end": "*a ".repeat(3_000),
    "underscores that do not end": "_a ".repeat(3_000),
    "headings of one letter": "a\n-\n".repeat(5_000),
    "tasks of one letter": "- [ ] a\n".repeat(5_000),
    "an item of many lines": `- a\n${"  b\n".repeat(6_000)}`,
    "lists in lists": "+ ".repeat(6_000),
    "quotes and lists in each other": "> - ".repeat(4_000),
    "links that do not end": "[a](".repeat(4_000),
    "addresses in brackets": "(http://a".repeat(3_000),
    "a table of many columns": `${"|a".repeat(5_000)}|\n${"|-".repeat(5_000)}|\n`,
  };
  test("is shown as text, and what stands around it as Markdown", async () => {
    const session = createSession({ cwd: "/project" });
    const say = (content: string) =>
      session.append({ type: "message", message: { role: "user", content, timestamp: 0 } }).id;
    const ids = Object.values(hard).map((text) => say(`${text}`));
    say("and **then**");
    const { page } = await show(await exported(session));
    for (const [row, [name, text]] of Object.entries(hard).entries()) {
      await page.evaluate((id) => {
        location.hash = `#/entry/${id}`;
      }, ids[row]!);
      const shown = () => body(page, row).textContent({ timeout: 15_000 });
      await expect.poll(shown, { message: name }).toContain(text.trim().slice(0, 500));
    }
    await page.getByRole("button", { name: "End" }).click();
    await body(page, ids.length).locator("strong").waitFor();
  });

  test("a paragraph with too many marks is text, what stands around it is Markdown", async () => {
    const page = await said(`**before**\n\n${"*a ".repeat(2_000)}\n\n- **after**`);
    await body(page, 0).getByText("before").waitFor();
    expect(await body(page, 0).locator("strong").allTextContents()).toEqual(["before", "after"]);
    expect((await body(page, 0).locator("p").nth(1).textContent())!.match(/\*a/g)).toHaveLength(2_000);
  });

  test("what people write at length is Markdown", async () => {
    const section = (at: number) =>
      `## Part ${at}\n\nSome *words* about \`part_${at}\` and [a link](https://example.org/${at}).\n\n- one\n- **two**\n\n`;
    const page = await said(Array.from({ length: 300 }, (_, at) => section(at)).join(""));
    await expect.poll(() => body(page, 0).locator("strong").count()).toBe(300);
    expect(await body(page, 0).locator("a").count()).toBe(300);
  });
});

test("a letter with thousands of marks is drawn with some of them, an answer with thousands of parts in pieces", async () => {
  const session = createSession({ cwd: "/project" });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never });
  say({ role: "user", content: `a${"\u0301".repeat(20_000)} and more` });
  const calls = Array.from({ length: 500 }, (_, at) => ({
    ...{ type: "toolCall", id: `c${at}`, name: "read", arguments: { path: `part-${at}.ts` } },
  }));
  say({ role: "assistant", content: calls });
  const { page } = await show(await exported(session));
  await expect.poll(() => body(page, 0).textContent()).toMatch(/^a\u0301{32} and more\s*$/);
  await expect.poll(() => body(page, 1).locator("details").count()).toBe(200);
  await body(page, 1).getByRole("button", { name: "Show more of 500 parts" }).click();
  await expect.poll(() => body(page, 1).locator("details").count()).toBe(400);
});

describe("what is looked for", () => {
  const markedTexts = (page: Page) =>
    page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map((range) => String(range)));

  test("is found as it reads, over marks of Markdown and colours of code", async () => {
    const code = "```ts\nexport const needleName = `a ** b`;\n```";
    const page = await said(
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

  test("a hit in a part not shown yet is announced, and its button scrolls into view", async () => {
    const page = await said(`${"a line\n".repeat(15_000)}the deepest word`, "and more");
    await body(page, 1).waitFor();
    await page.keyboard.press("/");
    await page.locator("#find-field").fill("deepest word");
    const found = page.locator(".find output");
    await expect.poll(() => found.textContent()).toBe("1 hit in 1 entry");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => found.textContent())
      .toContain("the current hit is in a part that is not shown yet");
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
  const length = (page: Page, row: number) =>
    body(page, row).evaluate((element) => element.textContent.length);

  test("is shown as far as it can be read, and more of it when somebody asks", async () => {
    const words = "more words ".repeat(100_000);
    const page = await said(
      words,
      "a\n".repeat(100_000),
      `${"-".repeat(39_999)}${"\u{1f333}".repeat(90_000)}`,
    );
    for (const row of [0, 1, 2]) {
      await body(page, row).waitFor();
      expect(await length(page, row)).toBeLessThan(FIRST_CHARS);
    }
    expect(await body(page, 2).locator("pre").textContent()).toBe("-".repeat(39_999));
    const more = body(page, 0).getByRole("button");
    expect(await more.textContent()).toBe("Show more of 1 line, 1,100,000 characters");
    await more.click();
    await expect.poll(() => length(page, 0)).toBeGreaterThan(500_000);
    await more.click();
    await expect.poll(() => more.textContent()).toMatch(/^Show all /);
    await more.click();
    await expect.poll(() => body(page, 0).locator("pre").textContent()).toBe(words);
    expect(await more.count()).toBe(0);
  });

  test("is bounded also where it is found in", async () => {
    const page = await said(`a needle ${"straw ".repeat(200_000)}`);
    await page.getByRole("button", { name: "Find" }).click();
    await page.locator("#find-field").fill("needle");
    await expect.poll(() => length(page, 0)).toBeGreaterThan(FIRST_CHARS);
    expect(await length(page, 0)).toBeLessThan(1_000_000);
  });

  test("is bounded in every part of an entry", async () => {
    const long = "x".repeat(110_000);
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
        call("2", "edit", { path: "a.ts", oldText: "a\n".repeat(60_000), newText: "b\n".repeat(60_000) }),
        call("3", "edit", { path: "a.ts", oldText: long, newText: `${long}y` }),
        call("4", "patch", { patch: `@@ -1 +1 @@\n${"-a\n".repeat(30_000)}` }),
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
    const parts = page.locator(".entry :is(pre, p.failed, dd)");
    expect(await parts.count()).toBeGreaterThanOrEqual(10);
    for (const part of await parts.all())
      expect((await part.textContent())!.length).toBeLessThan(FIRST_CHARS);
    expect(misdeeds).toEqual([]);
  });
});

test("a summary, and a command that is compared, are bounded too", async () => {
  const session = createSession({ cwd: "/project" });
  const message = (stored: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...stored } as never }).id;
  const asked = message({ role: "user", content: "one" });
  const command = "x".repeat(300_000);
  const output = { output: "", exitCode: 0, cancelled: false, truncated: false };
  const ran = message({ role: "bashExecution", command, ...output });
  const summary = `${"y".repeat(300_000)}\n${"- a line\n".repeat(3_000)}`;
  const { id } = session.append({ type: "compaction", summary, firstKeptEntryId: ran, tokensBefore: 9 });
  session.moveTo(asked);
  const other = message({ role: "user", content: "two" });
  const url = await exported(session);
  const { page: compared } = await show(`${url}#/compare/${ran}/${other}`);
  await compared.locator(".commands code").waitFor();
  expect((await compared.locator(".commands code").textContent())!.length).toBeLessThan(2_000);
  const { page: opened } = await show(`${url}#/compaction/${id}`);
  const lines = opened.locator(".lines > li");
  await lines.first().waitFor();
  expect(await lines.count()).toBe(1_000);
  expect((await lines.first().textContent())!.length).toBeLessThan(50_000);
  await opened.getByRole("button", { name: /^Show 1,000 more of 2,\d+ lines$/ }).click();
  await expect.poll(() => lines.count()).toBe(2_000);
});

describe("a text found many times over", () => {
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

  test("a few thousand are marked, and the one that is looked at is always among them", async () => {
    // Not Markdown: one node of text.
    const page = await said("x", `${`${"x ".repeat(600)}\n`.repeat(10)}${"\n-".repeat(8_000)}`, "the last x");
    await page.getByRole("button", { name: "Find" }).click();
    await page.locator("#find-field").fill("x");
    await expect.poll(() => page.locator(".find output").textContent()).toBe("6,002 hits in 3 entries");
    await expect.poll(() => marked(page)).toBeGreaterThan(1_000);
    expect(await marked(page)).toBeLessThan(5_000);
    await page.keyboard.press("Shift+Enter");
    await expect.poll(() => looked(page)).toEqual({ row: "2", at: 9, isSeen: true });
    await page.keyboard.press("Shift+Enter");
    await expect.poll(() => looked(page)).toMatchObject({ row: "1", isSeen: true });
    expect((await looked(page))!.at).toBeGreaterThan(10_000);
    // Who goes elsewhere meanwhile is not brought back to it.
    await page.locator('.entry[data-row="0"] .address').evaluate((link: HTMLElement) => link.click());
    const place = async () => (await page.locator(".entry.addressed h2").boundingBox())?.y ?? -1;
    const isOnScreen = async () => (await place()) > 0 && (await place()) < 800;
    await expect.poll(isOnScreen).toBe(true);
    await page.waitForTimeout(300);
    expect(await isOnScreen()).toBe(true);
  });
});

test("in a line of any length a few are marked, and the one that is looked at among them", async () => {
  const page = await said(`${"function x(){} ".repeat(5_000)}`, "and more");
  await body(page, 1).waitFor();
  await page.keyboard.press("/");
  await page.locator("#find-field").fill("function");
  const found = page.locator(".find output");
  await expect.poll(() => found.textContent()).toBe("5,000 hits in 1 entry");
  const marked = () => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0);
  await expect.poll(marked).toBeGreaterThan(10);
  expect(await marked()).toBeLessThan(100);
  await page.keyboard.press("Shift+Enter");
  await expect.poll(() => found.textContent()).toBe("5,000 of 5,000 hits in 1 entry");
  await expect.poll(() => page.evaluate(() => CSS.highlights.get("found-now")?.size)).toBe(1);
});

test("code that takes long to be coloured is shown; what people write has colours, and every character is there", async () => {
  const line = (at: number) => `const part${at} = "<${at}>"; // & so on\n${at % 9 === 0 ? "\n" : ""}`;
  const written: Array<[path: string, content: string]> = [
    ["a.java", "a".repeat(35_000)],
    ["a.ini", "1.".repeat(15_000)],
    ["a.cs", "begin ".repeat(6_000)],
    ["b.cs", `${"begin ".repeat(100)}\n`.repeat(60)],
    ["a.md", "[a](".repeat(9_000)],
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
    if (path === "a.ts") expect(await code.locator(".hljs-keyword").count()).toBeGreaterThan(50);
    await folds.nth(at).locator("summary").click();
  }
});
