import { createWriteStream, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import type { Session } from "@bonsai-agent/session";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, inject } from "vitest";
import { type PageOptions, pageHtml, SessionPage } from "../../src/index.ts";
import { launch } from "./chromium.ts";

/** A page in a browser, and all that it did which a page of a session never does. */
export interface ShownPage {
  page: Page;
  /** Requests but for the page itself, dialogs, windows, downloads, errors and warnings; empty for a sound page. */
  misdeeds: string[];
}

/** A browser for the tests of a file. @returns opens a page in a context of its own */
export function useBrowser(): (url: string, options?: BrowserContextOptions) => Promise<ShownPage> {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch(inject("chromium"));
  });
  afterAll(() => browser.close());
  return async (url, options = {}) => {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-US",
      timezoneId: "UTC",
      ...options,
    });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    const misdeeds = watched(page, new URL(url));
    await page.goto(url);
    await page.locator("main").waitFor();
    return { page, misdeeds };
  };
}

function watched(page: Page, url: URL): string[] {
  const misdeeds: string[] = [];
  const own = (asked: string) =>
    asked.startsWith("data:image/") || asked.split("#")[0]!.startsWith(url.href.split("#")[0]!);
  page.on("request", (request) => {
    if (!own(request.url())) misdeeds.push(`asked for ${request.url().slice(0, 200)}`);
  });
  page.on("framenavigated", (frame) => {
    if (!own(frame.url())) misdeeds.push(`went to ${frame.url()}`);
  });
  page.on("dialog", (dialog) => {
    misdeeds.push(`opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (popup) => misdeeds.push(`opened a window: ${popup.url()}`));
  page.on("download", (download) => misdeeds.push(`downloaded ${download.url()}`));
  page.on("pageerror", (error) => misdeeds.push(`failed: ${error.message}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) misdeeds.push(`said: ${message.text()}`);
  });
  return misdeeds;
}

/** A session written as one HTML file. @returns its address */
export async function exported(session: Session, options: PageOptions = {}): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), "page-")), "page.html");
  await pipeline(Readable.from(pageHtml(new SessionPage(session, options))), createWriteStream(file));
  return pathToFileURL(file).href;
}
