import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, forkSession } from "@bonsai-agent/session";
import { expect, onTestFinished, test } from "vitest";

/** Runs the body as a user who may not write everywhere, also where tests run as root. */
function unprivileged(body: () => void): void {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid!(65_534);
  try {
    body();
  } finally {
    if (isRoot) process.seteuid!(0);
  }
}

test("a fork into a read-only folder is an error and writes nothing", () => {
  const root = mkdtempSync(join(tmpdir(), "bonsai-read-only-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const session = createSession({ cwd: "/p", file: join(root, "s.jsonl") });
  session.append({ type: "message", message: { role: "user", content: "hello", timestamp: 0 } });
  const folder = join(root, "read-only");
  mkdirSync(folder, { mode: 0o555 });
  for (const open of [root, session.file!]) chmodSync(open, 0o755);
  unprivileged(() => {
    expect(() => forkSession(session, { folder })).toThrow(
      expect.objectContaining({ code: "session_not_created" }),
    );
  });
  expect(readdirSync(folder)).toEqual([]);
});
