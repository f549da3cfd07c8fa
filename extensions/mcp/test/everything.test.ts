import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestSession, type TestSession } from "@bonsai-agent/extension/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import mcp from "../index.ts";

const everything = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

test("tools of server-everything", async () => {
  const home = mkdtempSync(join(tmpdir(), "mcp-home-"));
  vi.stubEnv("BONSAI_HOME", home);
  writeFileSync(
    join(home, "mcp.json"),
    JSON.stringify({
      mcpServers: { everything: { command: process.execPath, args: [everything, "stdio"] } },
    }),
  );
  const open = await openTestSession({
    extensions: mcp,
    ui: {},
    answers: [
      {
        calls: [
          { name: "mcp__everything__echo", arguments: { message: "hello" } },
          { name: "mcp__everything__get-tiny-image", arguments: {} },
        ],
      },
      "Done.",
    ],
  });
  try {
    await open.prompt("Go");
    console.log(
      open.requests[0]!.tools.map((t) => t.name),
      open.ui,
      open.notices,
    );
    console.log(
      JSON.stringify(
        open.session.projection().items.map((i) => i.message),
        null,
        1,
      ).slice(0, 4000),
    );
  } finally {
    await open.close();
  }
});
