import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { exported, type ShownPage } from "./shown-page.ts";
import { workSession } from "./work-session.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run(): Promise<{
    violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary?: string }> }>;
  }>;
}

/** Describes the violations in words, so that a failure names the defect. */
function violations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const found = await (globalThis as unknown as { axe: Axe }).axe.run();
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary ?? ""}`),
    );
  });
}

type View = "entry" | "compaction" | "context" | "compare";

/** Expects no violation of axe-core in views of a session, and no view wider than its window. */
export async function expectAccessible(
  show: (url: string, options: BrowserContextOptions) => Promise<ShownPage>,
  { colorScheme, width, names }: { colorScheme: "light" | "dark"; width: number; names: readonly View[] },
): Promise<void> {
  const { session, id } = workSession();
  const url = await exported(session);
  // The page's policy would block the script of the checker.
  const { page } = await show(url, { colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
  await page.addScriptTag({ content: axe });
  const views = {
    entry: [`#/entry/${id("result 4")}`, ".entry.addressed .body"],
    context: ["#/context", "main canvas"],
    compaction: ["#/compaction/all", "main article"],
    compare: ["#/compare", "main article"],
  } as const;
  for (const [at, name] of names.entries()) {
    const [hash, ready] = views[name];
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await page.locator(ready).first().waitFor();
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll<HTMLDetailsElement>("details")) fold.open = true;
    });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    // The list of keys covers the last view.
    if (at === names.length - 1) await page.locator("body").press("?");
    expect(await violations(page), hash).toEqual([]);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, `${hash} is wider than its window`).toBeLessThanOrEqual(0);
  }
  await page.getByRole("heading", { name: "Keys" }).waitFor();
}
