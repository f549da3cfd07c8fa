import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { piCommands } from "../src/rpc/pi-commands.ts";
import { rpcCommands, uiRequests } from "../src/rpc/protocol.ts";

/** The rows of a section of RPC.md: a name and the names of its fields. */
function documented(section: string): [name: string, fields: string[]][] {
  const document = readFileSync(new URL("../RPC.md", import.meta.url), "utf8");
  const text = document.split(/^## /m).find((part) => part.startsWith(`${section}\n`))!;
  return [...text.matchAll(/^\| `(\w+)` \|(.*?)\|/gm)].map(([, name, fields]) => [
    name!,
    [...fields!.matchAll(/`(\w+)(\?)?`/g)].map((field) => `${field[1]}${field[2] ?? ""}`),
  ]);
}

function rowsOf(table: Record<string, z.ZodRawShape>): unknown[] {
  return Object.entries(table).map(([name, fields]) => [
    name,
    Object.entries(fields).map(
      ([field, schema]) => `${field}${z.safeParse(schema, undefined).success ? "?" : ""}`,
    ),
  ]);
}

test("RPC.md has every command with its fields, in order", () => {
  expect(documented("Commands")).toEqual(rowsOf(rpcCommands));
});

test("RPC.md has every call of pi's client with its fields, in order", () => {
  expect(documented("pi's client")).toEqual(rowsOf(piCommands));
});

test("RPC.md has every question and what else extensions show, with its fields, in order", () => {
  expect(documented("Questions of extensions")).toEqual(rowsOf(uiRequests));
});
