import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";

const page = readFileSync(join(import.meta.dirname, "../../../docs/acp.md"), "utf8");

/** The first cells of the table with this heading. */
function rows(heading: string): string[] {
  const [, body = ""] = page.split(`| ${heading} |`);
  return [
    ...body.split("\n\n", 1)[0]!.matchAll(/^\| `([^`]+)` \|.*(?:sent|handled|not supported: \w+)/gm),
  ].map(([, name]) => name!);
}

interface Variants {
  oneOf: { properties: Record<string, { const: string }> }[];
}

const schema = createRequire(import.meta.url)("@agentclientprotocol/sdk/schema/v1/schema.json") as {
  $defs: Record<string, Variants>;
};

const variants = (name: string, key: string) =>
  schema.$defs[name]!.oneOf.map(({ properties }) => properties[key]!.const);

test("the conformance table has every method of the protocol", () => {
  const methods = [acp.AGENT_METHODS, acp.CLIENT_METHODS, acp.PROTOCOL_METHODS].flatMap((each) =>
    Object.values(each),
  );
  expect(rows("method").sort()).toEqual(methods.sort());
});

test("the conformance table has every update and every content of a prompt", () => {
  expect(rows("update").sort()).toEqual(variants("SessionUpdate", "sessionUpdate").sort());
  expect(rows("content of a prompt").sort()).toEqual(variants("ContentBlock", "type").sort());
});
