import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromiumProgram, launch } from "../../packages/page/test/browser/chromium.ts";
import { Studio } from "./studio.ts";

/** The page of the demo session, for readers of the documents. */
const demoPage = fileURLToPath(new URL("../../docs/demo-session.html", import.meta.url));
/** Replaces the temporary folder of the demo in the page. */
const SHOWN_FOLDER = "/home/you";

/** Plays the demo, writes its page into `docs`, and draws its first compaction as PNG. */
export async function drawPage(folder: string): Promise<void> {
  const compaction = writeDemoPage();
  const browser = await launch(await chromiumProgram());
  try {
    const context = await browser.newContext({
      ...{ locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce", colorScheme: "light" },
      viewport: { width: 1280, height: 1300 },
    });
    const page = await context.newPage();
    await page.goto(`${pathToFileURL(demoPage).href}#/compaction/${compaction}`);
    await page.locator("main h2").first().waitFor();
    // The page measures long texts after its first frame.
    await page.waitForTimeout(500);
    const png = await page.screenshot({ path: join(folder, "page-compaction.png") });
    console.log(`docs/pictures/page-compaction.png  ${Math.ceil(png.length / 1000)} kB`);
  } finally {
    await browser.close();
  }
}

/** Returns the id of the first compaction. */
function writeDemoPage(): string {
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
    return entries.find(({ type }) => type === "compaction")!.id!;
  } finally {
    studio.close();
  }
}
