import { readFileSync, writeFileSync } from "node:fs";
import { openSession, type Session } from "@bonsai-agent/session";
import { afterEach, expect, test, vi } from "vitest";
import type { InteractiveContext } from "../../src/interactive/interactive-context.ts";
import { readAhead } from "../../src/interactive/session/background.ts";
import { header, writeLines } from "../call/sample-session.ts";

function message(id: number, role = "user"): object {
  return {
    ...{ type: "message", id: hex(id), parentId: id === 0 ? null : hex(id - 1) },
    timestamp: "2026-01-05T09:00:00.000Z",
    message: { role, content: `message ${id}`, timestamp: 0 },
  };
}

function hex(id: number): string {
  return id.toString(16).padStart(8, "0");
}

afterEach(() => void vi.useRealTimers());

function openChain(messages: number): { file: string; session: Session } {
  const file = writeLines([header, ...Array.from({ length: messages }, (_, id) => message(id))]);
  return { file, session: openSession(file) };
}

/** The agent that the user works with, as far as reading ahead looks at it. */
function fakeHost(session: Session) {
  const handlers = new Map<string, () => void>();
  const agent = { session, isBusy: false };
  const lifecycle = { on: (name: string, handler: () => void) => handlers.set(name, handler) };
  const work = { host: { agent, app: { lifecycle } } } as unknown as InteractiveContext;
  readAhead(work);
  return { agent, notify: (name: string) => handlers.get(name)?.() };
}

test("the outline is not read again, and has newer entries", () => {
  vi.useFakeTimers();
  const { session } = openChain(300);
  const { notify } = fakeHost(session);
  notify("session_start");
  vi.runAllTimers();
  const read = vi.spyOn(session.store, "read");
  expect(session.tree().entries).toHaveLength(300);
  expect(read).not.toHaveBeenCalled();
  session.append({ type: "message", message: { role: "user", content: "more", timestamp: 0 } });
  session.moveTo(hex(7));
  expect(session.tree().entries).toEqual(session.tree({ isParsed: true }).entries);
  session.close();
});

test("nothing is read ahead while the agent works, nor of a session that was left", () => {
  vi.useFakeTimers();
  const { session } = openChain(30);
  const read = vi.spyOn(session.store, "read");
  const { agent, notify } = fakeHost(session);
  agent.isBusy = true;
  notify("session_start");
  vi.advanceTimersByTime(5_000);
  expect(read).not.toHaveBeenCalled();
  notify("session_shutdown");
  session.close();
  expect(vi.getTimerCount()).toBe(0);
  agent.isBusy = false;
  notify("session_start");
  vi.runAllTimers();
  expect(read).not.toHaveBeenCalled();
});

test("a file that was replaced is read anew", () => {
  const { file, session } = openChain(20);
  session.tree().entries;
  const lines = readFileSync(file, "utf8").split("\n");
  const answers = lines.slice(0, 11).map((line) => line.replace('"role":"user"', '"role":"system"'));
  writeFileSync(file, `${answers.join("\n")}\n`);
  expect(session.tree().entries.map(({ kind }) => kind)).toEqual(new Array(10).fill("system"));
  session.close();
});
