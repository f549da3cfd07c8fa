import { createSession, type Session } from "@bonsai-agent/session";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { exported, useBrowser } from "./shown-page.ts";

const TURNS = 30;
const show = useBrowser();
let page: Page;
let misdeeds: string[];
let session: Session;
let ids: string[];
let branchId: string;

beforeAll(async () => {
  ({ session, ids, branchId } = steppedSession());
  const options = {
    modelSizes: () => ({ windowTokens: 64_000, thresholdTokens: 50_000 }),
    isOverflow: () => true,
  };
  ({ page, misdeeds } = await show(`${await exported(session, options)}#/context`));
});

/**
 * Turns of a question, an answer and a result; the fifth is refused for its size; a compaction and one that is undone, six
 * masks at one place, and a compaction behind all of it. @returns ids of the answers, and of
 * one on another branch, behind the thirteenth
 */
function steppedSession(): { session: Session; ids: string[]; branchId: string } {
  const session = createSession({ cwd: "/project" });
  const ids: string[] = [];
  const results: string[] = [];
  let sent = 4_000;
  const message = (stored: object) =>
    session.append({ type: "message", message: { timestamp: 1, ...stored } as never }).id;
  const compact = () => {
    sent = 4_000;
    const firstKeptEntryId = session.leafId!;
    return session.append({ type: "compaction", summary: "## Goal", firstKeptEntryId, tokensBefore: 9_000 });
  };
  for (let turn = 1; turn <= TURNS; turn += 1) {
    message({ role: "user", content: `Question ${turn}` });
    sent += 1_000;
    const ended =
      turn === 5
        ? { content: [], stopReason: "error", errorMessage: "prompt is too long" }
        : {
            content: [{ type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: "a" } }],
            usage: {
              ...{ input: 100, output: 20, cacheRead: sent - 600, cacheWrite: 500 },
              cost: { input: 0.01, output: 0.02, cacheRead: 0.03, cacheWrite: 0.04, total: 0.1 },
            },
          };
    ids.push(message({ role: "assistant", provider: "made", model: "actor-64k", ...ended }));
    if (turn === 5) continue;
    const result = {
      toolCallId: `c${turn}`,
      toolName: "read",
      content: [{ type: "text", text: "x ".repeat(turn * 40) }],
    };
    results.push(message({ role: "toolResult", isError: false, ...result }));
    if (turn === 10) compact();
    if (turn === 15) session.undoCompaction(compact().id);
    if (turn === 20)
      for (const targetId of results.slice(-6))
        session.append({ type: "context_edit", targetId, replacement: { content: "[masked]" } });
  }
  compact();
  const leafId = session.leafId!;
  session.moveTo(results[11]!);
  const usage = { input: 9_000, output: 20, cacheRead: 0, cacheWrite: 0 };
  const asked = { role: "assistant", provider: "made", model: "actor-64k", usage };
  const branchId = message({ ...asked, content: [{ type: "text", text: "Another way." }] });
  session.moveTo(leafId);
  return { session, ids, branchId };
}

const step = () => page.locator(".step p").textContent();
const request = async () => Number(/Request (\d+) of/.exec((await step())!)![1]);

describe("the context over time", () => {
  test("the legend counts all marks of the chart, also after the last request, and undone ones separately", async () => {
    const legend = await page.locator(".legend").textContent();
    for (const text of [
      "2 compactions",
      "1 undone compaction",
      "6 masks",
      "1 request too large",
      "window 64k",
      "threshold 50k",
    ])
      expect(legend).toContain(text);
    expect(legend).not.toContain("1 requests");
  });

  test("a step moves a line over the chart, without a redraw or a history entry", async () => {
    await page.locator("canvas").evaluate((canvas) => {
      canvas.dataset.same = "yes";
    });
    const places = await page.evaluate(() => history.length);
    expect(await request()).toBe(TURNS);
    await page.getByRole("slider").focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(request).toBe(TURNS - 1);
    await page.keyboard.press("Home");
    await expect.poll(request).toBe(1);
    await page.keyboard.press("PageUp");
    await expect.poll(request).toBe(11);
    expect(await page.getByRole("slider").getAttribute("aria-valuenow")).toBe("11");
    expect(await page.locator("canvas").evaluate((canvas) => canvas.dataset.same)).toBe("yes");
    expect(await page.evaluate(() => history.length)).toBe(places);
    expect(await step()).toContain("Before this request: compacted.");
    expect(page.url()).toContain(`#/context/${ids[10]}`);
  });

  test("the pointer previews the model's context at a request, and a click selects it", async () => {
    const box = (await page.locator(".u-over").boundingBox())!;
    const pixels = box.width / (TURNS + 1);
    await page.mouse.move(box.x + pixels * 8, box.y + 20);
    await expect.poll(request).toBe(8);
    const seen = await page.locator(".seen li").count();
    expect(seen).toBeGreaterThan(10);
    await page.mouse.move(box.x + pixels * 8, box.y + box.height + 300);
    await expect.poll(request).toBe(11);
    await page.mouse.click(box.x + pixels * 21, box.y + 20);
    await expect.poll(request).toBe(21);
    expect(page.url()).toContain(`#/context/${ids[20]}`);
    expect(await step()).toContain("Before this request: 6 messages masked.");
  });

  test("the context is listed by size with masked results last, or in order", async () => {
    const sizes = () => page.locator(".seen .size").allTextContents();
    const numbers = (texts: string[]) => texts.map((text) => Number.parseInt(text.replace(",", ""), 10) || 0);
    const bySize = numbers(await sizes());
    expect(bySize).toEqual(bySize.toSorted((a, b) => b - a));
    expect((await sizes()).filter((text) => text === "masked")).toHaveLength(6);
    expect(await page.locator(".seen li.is-masked").count()).toBe(6);
    await page.getByRole("button", { name: "Oldest first" }).click();
    await expect.poll(async () => numbers(await sizes())).not.toEqual(bySize);
    expect(await page.locator(".seen li a").first().textContent()).toContain("compaction");
  });

  test("the table lists all requests with the accumulated cost", async () => {
    await page.getByText("Show as a table").click();
    const rows = page.locator(".all-requests tbody tr");
    await expect.poll(() => rows.count()).toBe(TURNS);
    expect(await rows.nth(4).textContent()).toContain("rejected as too large");
    expect(await rows.nth(20).locator("td").nth(7).textContent()).toBe("$2.00");
    expect(await rows.last().textContent()).toContain("After this request: compacted");
    await page.getByRole("link", { name: "Request 28", exact: true }).click();
    await expect.poll(request).toBe(28);
  });

  test("shows the cost of the branch by price class and in total", async () => {
    const cells = (name: string) =>
      page
        .locator(".totals tr", { has: page.getByRole("rowheader", { name }) })
        .locator("td")
        .allTextContents();
    expect(await cells("Output")).toEqual([String((TURNS - 1) * 20), "$0.58"]);
    expect((await cells("Total"))[1]).toBe("$2.90");
    expect(await page.locator(".totals caption").textContent()).toContain("cost unknown for 1 request");
  });

  test("steps stay on the visible branch, also before its branch point", async () => {
    await page.evaluate((to) => {
      location.hash = `#/context/${to}`;
    }, branchId);
    await expect.poll(step).toContain("Request 14 of 14");
    await page.getByRole("slider").focus();
    await page.keyboard.press("PageDown");
    await expect.poll(step).toContain("Request 4 of 14");
    await page.keyboard.press("End");
    await expect.poll(step).toContain("9,000 tokens sent");
  });

  test("a compaction links to its parts", async () => {
    await page.evaluate(() => {
      location.hash = "#/compaction/all";
    });
    const links = page.locator(".summaries a");
    await expect.poll(() => links.allTextContents()).toHaveLength(3);
    expect(await links.nth(1).textContent()).toContain("(undone)");
    expect((await links.allTextContents()).join()).not.toContain("another branch");
    await links.nth(1).click();
    await page.getByText("This compaction was undone").waitFor();
    await links.nth(2).click();
    await expect.poll(() => links.nth(2).getAttribute("aria-current")).toBe("true");
    await page.locator(".strip button").first().click();
    const entries = page.locator(".run li a");
    const name = await page.locator(".run h4").textContent();
    expect(await entries.count()).toBeGreaterThan(20);
    expect(name).toContain(`${await entries.count()} messages`);
    await entries.last().click();
    await page.locator(".entry.addressed").waitFor();
    expect(misdeeds).toEqual([]);
  });
});
