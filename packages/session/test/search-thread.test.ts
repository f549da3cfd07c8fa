import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SearchThread } from "../src/search/index.ts";
import type { SessionSearchOptions } from "../src/search/session-search.ts";
import { childSession } from "./child-session.ts";
import { RecordedHome } from "./recorded-home.ts";

function threadOf(home: RecordedHome, options: SessionSearchOptions = {}): SearchThread {
  const onNotice = ({ code }: { code: string }) => home.notices.push(code);
  const thread = new SearchThread({ home: home.path, onNotice, ...options });
  onTestFinished(() => thread.close());
  return thread;
}

test("a thread indexes and finds like a search in the same thread", async () => {
  const home = new RecordedHome();
  home.write("one", "needle", "straw", "needle needle");
  home.write("two", "another needle");
  const thread = threadOf(home);
  expect(await thread.catchUp()).toBe("complete");
  for (const options of [
    {},
    { limit: 1 },
    { perSession: 1 },
    { scope: { sources: [{ file: home.file("two") }] } },
  ]) {
    expect(await thread.find("needle", options)).toEqual(await home.search().find("needle", options));
  }
});

test("a search during a catch-up waits for its own sessions only", async () => {
  const home = new RecordedHome();
  for (let at = 0; at < 20; at += 1)
    home.write(`other${at}`, ...Array.from({ length: 50 }, (_, n) => `hay ${n} ${"straw ".repeat(500)}`));
  home.write("own", "needle");
  const thread = threadOf(home);
  let isComplete = false;
  const catchingUp = thread.catchUp().then((state) => {
    isComplete = true;
    return state;
  });
  const { hits, unindexed } = await thread.find("needle", {
    scope: { sources: [{ file: home.file("own") }] },
  });
  expect([hits.length, unindexed, isComplete]).toEqual([1, 0, false]);
  expect(await catchingUp).toBe("complete");
});

test("an aborted request fails with its reason, and the next request starts a new thread", async () => {
  const home = new RecordedHome();
  home.write("one", "needle");
  const thread = threadOf(home);
  const reason = new Error("not any more");
  await expect(thread.find("needle", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const controller = new AbortController();
  const aborted = thread.find("needle", { signal: controller.signal });
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  const closed = thread.catchUp();
  thread.close();
  await expect(closed).rejects.toThrow("The search was closed.");
  expect((await thread.find("needle")).hits).toHaveLength(1);
});

test("forwards notices and errors", async () => {
  const home = new RecordedHome();
  home.write("one", "needle");
  writeFileSync(join(home.path, "index"), "a file");
  const thread = threadOf(home);
  expect(await thread.catchUp()).toBe("unavailable");
  expect((await thread.find("needle")).hits).toHaveLength(1);
  expect(home.notices).toEqual(["index_unavailable"]);
  writeFileSync(join(home.path, "no-folder"), "");
  const unreadable = threadOf(home, { home: join(home.path, "no-folder") });
  await expect(unreadable.find("needle")).rejects.toThrow("ENOTDIR");
});

test("an idle thread does not keep the process alive, and prints nothing", async () => {
  const home = new RecordedHome();
  home.write("one", "needle");
  expect(await childSession(["thread", home.path, "needle"])).toEqual({ state: "complete", hits: 1 });
});
