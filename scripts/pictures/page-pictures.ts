import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pageHtml, SessionPage } from "../../packages/page/src/index.ts";
import { chromiumProgram, launch } from "../../packages/page/test/browser/chromium.ts";
import { hostileSession } from "../../packages/page/test/browser/hostile-session.ts";
import { Studio } from "./studio.ts";

/** The page of the demonstration's session, to be looked at. */
const demoPage = fileURLToPath(new URL("../../docs/demo-session.html", import.meta.url));
/** In the place of the folder that it was played in. */
const SHOWN_FOLDER = "/home/you";

interface View {
  name: string;
  hash: (ids: DemoIds) => string;
  /** Pixels; default 1280 by 800. */
  size?: { width: number; height: number };
  isDark?: boolean;
  /** What is drawn last. */
  ready: string;
}

interface DemoIds {
  compaction: string;
  masked: string;
}

/** The pictures of a page, in the order of the gallery. */
const views: readonly View[] = [
  { name: "page-transcript", hash: () => "#/transcript", ready: ".tree .line" },
  {
    name: "page-dark",
    hash: ({ masked }) => `#/entry/${masked}`,
    isDark: true,
    ready: ".entry.addressed .body",
  },
  {
    name: "page-narrow",
    hash: () => "#/transcript",
    size: { width: 360, height: 720 },
    ready: ".entry .body",
  },
  { name: "page-tree", hash: () => "#/tree", ready: "main > .tree .line" },
  { name: "page-compare", hash: () => "#/compare", ready: ".sides h3" },
  { name: "page-context", hash: () => "#/context", size: { width: 1280, height: 1000 }, ready: "canvas" },
  {
    name: "page-compaction",
    hash: ({ compaction }) => `#/compaction/${compaction}`,
    size: { width: 1280, height: 1300 },
    ready: "main h2",
  },
];

/** Plays the demonstration, writes its page into `docs`, and draws its views and a hostile session's page as PNG. */
export async function drawPages(folder: string): Promise<void> {
  const ids = writeDemoPage();
  const hostile = join(mkdtempSync(join(tmpdir(), "page-")), "hostile.html");
  writeFileSync(hostile, [...pageHtml(new SessionPage(hostileSession()))].join(""));
  const browser = await launch(await chromiumProgram());
  try {
    for (const { name, hash, size = { width: 1280, height: 800 }, isDark = false, ready } of views)
      await draw(demoPage, { name, hash: hash(ids), size, isDark, ready });
    const size = { width: 1280, height: 800 };
    await draw(hostile, {
      name: "page-hostile",
      hash: "#/transcript",
      size,
      isDark: false,
      ready: ".tree .line",
    });
  } finally {
    await browser.close();
  }

  async function draw(
    file: string,
    { name, hash, size, isDark, ready }: Required<Omit<View, "hash">> & { hash: string },
  ): Promise<void> {
    const context = await browser.newContext({
      ...{ locale: "en-US", timezoneId: "UTC", viewport: size, reducedMotion: "reduce" },
      colorScheme: isDark ? "dark" : "light",
    });
    const page = await context.newPage();
    await page.goto(`${pathToFileURL(file).href}${hash}`);
    await page.locator(ready).first().waitFor();
    // Texts are read and measured after they were first drawn.
    await page.waitForTimeout(500);
    const png = await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(`docs/pictures/${name}.png  ${Math.ceil(png.length / 1000)} kB`);
    await context.close();
  }
}

function writeDemoPage(): DemoIds {
  const studio = new Studio();
  try {
    studio.run("demo", "--fast");
    const played = readdirSync(studio.home).find((name) => name.startsWith("bonsai-demo-"))!;
    const lines = readFileSync(join(studio.home, played, "session.jsonl"), "utf8")
      .replaceAll(join(studio.home, played), SHOWN_FOLDER)
      .split("\n");
    const file = studio.write("session.jsonl", lines.join("\n"));
    studio.run("export", file, join(studio.home, "page.html"));
    writeFileSync(demoPage, readFileSync(join(studio.home, "page.html")));
    const entries = lines
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, string>);
    return {
      compaction: entries.find(({ type }) => type === "compaction")!.id!,
      masked: entries.find(({ type }) => type === "context_edit")!.targetId!,
    };
  } finally {
    void studio.close();
  }
}
