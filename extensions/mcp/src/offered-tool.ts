import { createHash } from "node:crypto";
import type { ListedTool } from "./listing.ts";
import type { McpServer } from "./server.ts";

/** A tool of a server as the model is offered it. */
export interface OfferedTool {
  /** `mcp__server__tool`. */
  name: string;
  server: McpServer;
  listed: ListedTool;
  /** What its name, description and schema cost in each request, estimated. */
  tokens: number;
}

/** As long as providers take. */
const MAX_CHARS = 64;
const hashChars = 6;

/** A tool of a server. */
interface Named {
  server: string;
  tool: string;
}

/**
 * A name for each: `mcp__server__tool`, of letters, digits, `_` and `-`. Where two would be the same, or one is too long,
 * it ends with a hash of what it stands for, so that no order matters.
 */
export function toolNames(all: readonly Named[]): string[] {
  const plain = all.map(({ server, tool }) => `mcp__${legal(server)}__${legal(tool)}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, at) =>
    name.length <= MAX_CHARS && counts.get(name) === 1 ? name : hashed(name, all[at]!),
  );
}

function legal(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function hashed(name: string, { server, tool }: Named): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest("hex")
    .slice(0, hashChars);
  return `${name.slice(0, MAX_CHARS - hashChars - 1)}_${hash}`;
}
