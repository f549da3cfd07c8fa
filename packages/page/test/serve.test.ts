import { request } from "node:http";
import { createSession } from "@bonsai-agent/session";
import { afterEach, expect, test } from "vitest";
import type { PageUpdate } from "../src/page-data.ts";
import { type ServedPage, servePage } from "../src/serve.ts";
import { SessionPage } from "../src/session-page.ts";

const pages: ServedPage[] = [];
afterEach(async () => {
  for (const page of pages.splice(0)) await page.close();
});

async function served() {
  const session = createSession({ cwd: "/project" });
  const say = (content: string) =>
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  say("one");
  const shown = new SessionPage(session);
  const source = { state: () => String(session.index().count), open: () => shown };
  const page = await servePage({ source, graceMs: 10 });
  pages.push(page);
  return { page, say };
}

/** Returns the status of a request. `fetch` cannot set the host. */
function status(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, method }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    asked.on("error", reject).end();
  });
}

test("serves the page, its data and its chunks; an update contains only the new entries", async () => {
  const { page, say } = await served();
  const html = await fetch(page.url);
  expect(html.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'sha256-");
  const { data, revision } = (await (await fetch(`${page.url}data`)).json()) as PageUpdate;
  expect(data.rows.previews).toEqual(["one"]);
  const bodies = (await (await fetch(`${page.url}chunk/0-1`)).json()) as unknown[];
  expect(bodies).toEqual([{ parts: [{ type: "markdown", text: "one" }] }]);
  say("two");
  const { session, rows } = data;
  const known = new URLSearchParams({ from: "1", session: session.id, last: rows.ids[0]! });
  known.set("revision", String(revision));
  const update = (await (await fetch(`${page.url}data?${known}`)).json()) as PageUpdate;
  expect(update.from).toBe(1);
  expect(update.data.rows.previews).toEqual(["two"]);
});

test("a request without the token, for another host or from another origin fails", async () => {
  const { page } = await served();
  const { origin } = new URL(page.url);
  expect(await status(page.url)).toBe(200);
  expect(await status(`${origin}/`)).toBe(404);
  expect(await status(page.url.replace(/.\/$/, "/"))).toBe(404);
  expect(await status(page.url, { host: "evil.example" })).toBe(404);
  expect(await status(page.url, { origin: "https://evil.example" })).toBe(404);
  expect(await status(page.url, { "sec-fetch-site": "cross-site" })).toBe(404);
  expect(await status(`${page.url}../../etc/passwd`)).toBe(404);
  expect(await status(`${page.url}chunk/5-1`)).toBe(404);
  expect(await status(page.url, {}, "POST")).toBe(405);
});

test("the server stops when the last following page closes", async () => {
  const { page } = await served();
  const following = new AbortController();
  await fetch(`${page.url}events`, { signal: following.signal });
  following.abort();
  await page.ended;
  await expect(fetch(page.url)).rejects.toThrow();
});

test("a following page gets a change event even if a chunk request reads the change first", async () => {
  const { page, say } = await served();
  const following = new AbortController();
  const { body } = await fetch(`${page.url}events`, { signal: following.signal });
  const events = body!.pipeThrough(new TextDecoderStream()).getReader();
  const changed = async () => {
    let text = "";
    while (!text.includes("event: changed")) text += (await events.read()).value ?? "";
  };
  await changed();
  say("two");
  await (await fetch(`${page.url}chunk/0-1`)).json();
  await changed();
  following.abort();
});
