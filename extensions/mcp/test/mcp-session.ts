import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { vi } from "vitest";
import mcp from "../index.ts";

const { resolve } = createRequire(import.meta.url);

export const everything = resolve("@modelcontextprotocol/server-everything/dist/index.js");
export const filesystem = resolve("@modelcontextprotocol/server-filesystem/dist/index.js");

/** An entry of a server that is a script. */
export function script(path: string, ...args: string[]): { command: string; args: string[] } {
  return { command: process.execPath, args: [path, ...args] };
}

/** The offering server as a program. */
export const offeringProgram = script(join(import.meta.dirname, "offering-server.ts"));

export interface McpSession extends AsyncDisposable {
  readonly session: TestSession;
  /** Notices to the user. */
  readonly notices: string[];
  /** Tools of servers in the latest request. */
  offered(): string[];
  /** Results of all calls, oldest first. */
  results(): { text: string; images: number; isError: boolean; details?: unknown }[];
}

/** A session with these servers in the user's `mcp.json`. */
export async function openMcpSession(
  mcpServers: object,
  options: OpenTestSessionOptions = {},
): Promise<McpSession> {
  const home = mkdtempSync(join(tmpdir(), "bonsai-mcp-"));
  vi.stubEnv("BONSAI_HOME", home);
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }));
  const session = await openTestSession({ extensions: mcp, ui: {}, flags: { "mcp-wait": "60" }, ...options });
  return {
    session,
    get notices() {
      return session.ui.flatMap(({ method, args }) => (method === "notify" ? [String(args[0])] : []));
    },
    offered: () =>
      (session.requests.at(-1)?.tools ?? [])
        .map(({ name }) => name)
        .filter((name) => name.startsWith("mcp_")),
    results: () =>
      session.session.projection().items.flatMap(({ message }) => {
        if (message.role !== "toolResult") return [];
        const texts = message.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
        const { isError, details } = message;
        const images = message.content.length - texts.length;
        return [{ text: texts.join("\n"), images, isError, details }];
      }),
    async [Symbol.asyncDispose]() {
      await session.close();
      vi.unstubAllEnvs();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** An answer of the model that calls tools. */
export function calling(...calls: [name: string, args?: object][]) {
  return { calls: calls.map(([name, args = {}]) => ({ name, arguments: { ...args } })) };
}

/** Running child processes of this one, by a word of their command. */
export function startedWith(word: string): number[] {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, state = "", ...args] = line.trim().split(/\s+/);
    const isOurs = Number(parent) === process.pid && !state.startsWith("Z");
    return isOurs && args.join(" ").includes(word) ? [Number(pid)] : [];
  });
}
