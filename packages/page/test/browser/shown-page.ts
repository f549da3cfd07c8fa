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

/** A page in a browser, with a list of its forbidden actions. */
export interface ShownPage {
  page: Page;
  /** Requests except for the page itself, dialogs, windows, downloads, errors and warnings. Empty for a correct page. */
  misdeeds: string[];
}

/**
 * A browser for the tests of a file.
 * @returns opens a page. Calls with the same options share one, so that the one that was opened before is gone
 */
export function useBrowser(): (url: string, options?: BrowserContextOptions) => Promise<ShownPage> {
  let browser: Browser;
  const pages = new Map<string, WatchedPage>();
  beforeAll(async () => {
    browser = await launch(inject("chromium"));
  });
  afterAll(() => browser.close());
  return async (url, options = {}) => {
    const key = JSON.stringify(options);
    let watched = pages.get(key);
    if (watched === undefined || watched.page.isClosed()) {
      watched = new WatchedPage(await openPage(browser, options));
      pages.set(key, watched);
    }
    await watched.open(url);
    return { page: watched.page, misdeeds: watched.misdeeds };
  };
}

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    timezoneId: "UTC",
    ...options,
  });
  context.setDefaultTimeout(15_000);
  return context.newPage();
}

/** A page that records its actions, separately for each address. */
class WatchedPage {
  readonly page: Page;
  misdeeds: string[] = [];
  /** Undefined between two pages. */
  #url: string | undefined;

  constructor(page: Page) {
    this.page = page;
    page.on("request", (request) => {
      if (!this.#isOwn(request.url())) this.#note(`asked for ${request.url().slice(0, 200)}`);
    });
    page.on("framenavigated", (frame) => {
      if (!this.#isOwn(frame.url())) this.#note(`went to ${frame.url()}`);
    });
    page.on("dialog", (dialog) => {
      this.#note(`opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("popup", (popup) => this.#note(`opened a window: ${popup.url()}`));
    page.on("download", (download) => this.#note(`downloaded ${download.url()}`));
    page.on("pageerror", (error) => this.#note(`failed: ${error.message}`));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.#note(`said: ${message.text()}`);
    });
  }

  async open(url: string): Promise<void> {
    this.#url = undefined;
    await this.page.goto("about:blank");
    this.misdeeds = [];
    this.#url = new URL(url).href.split("#")[0]!;
    await this.page.goto(url);
    await this.page.locator("main").waitFor();
  }

  #isOwn(asked: string): boolean {
    return asked.startsWith("data:image/") || asked.split("#")[0]!.startsWith(this.#url ?? "");
  }

  #note(misdeed: string): void {
    if (this.#url !== undefined) this.misdeeds.push(misdeed);
  }
}

/** A session written as one HTML file. @returns its address */
export async function exported(session: Session, options: PageOptions = {}): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), "page-")), "page.html");
  await pipeline(Readable.from(pageHtml(new SessionPage(session, options))), createWriteStream(file));
  return pathToFileURL(file).href;
}
