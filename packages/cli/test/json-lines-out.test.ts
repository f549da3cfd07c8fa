import { EventEmitter } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonLinesOut } from "../src/call/json-lines.ts";
import { outputJson } from "../src/call/output.ts";
import { header, testFolder } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

/** A stream that is full from the first write on. */
class FullStream extends EventEmitter {
  text = "";
  write(text: string): boolean {
    this.text += text;
    return false;
  }
}

const waiting = (room: Promise<void>) => Promise.race([room.then(() => "room"), Promise.resolve("waits")]);

test("many writes add one listener, and all resolve when the stream drains", async () => {
  const stream = new FullStream();
  const out = new JsonLinesOut(stream, new AbortController().signal);
  const rooms = Array.from({ length: 50 }, (_, at) => out.write({ at }));
  expect(stream.listenerCount("drain")).toBe(1);
  expect(await waiting(rooms[0]!)).toBe("waits");
  stream.emit("drain");
  await Promise.all(rooms);
  expect(stream.text.split("\n")).toHaveLength(51);
  expect(stream.eventNames()).toEqual([]);
  expect(await waiting(out.write("the next one"))).toBe("waits");
  stream.emit("close");
  expect(stream.eventNames()).toEqual([]);
});

test("an interrupt resolves pending and later writes", async () => {
  const stream = new FullStream();
  const interrupted = new AbortController();
  const out = new JsonLinesOut(stream, interrupted.signal);
  const room = out.write(1);
  interrupted.abort();
  await room;
  await out.write(2);
  expect(stream.text).toBe("1\n2\n");
  expect(stream.eventNames()).toEqual([]);
});

/** All of it is invisible, or steers a terminal: controls, separators, directions, tags, halves of characters. */
const hidden = [
  ...Array.from({ length: 0x20 }, (_, at) => at),
  ...Array.from({ length: 0x21 }, (_, at) => 0x7f + at),
  ...[0xad, 0x61c, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x2060, 0xfeff, 0xfff9],
  ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0xd800, 0xdfff],
  ...[0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe0fff],
].map((code) => String.fromCodePoint(code));
const isVisible = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{e0000}-\u{e0fff}]*$/u;

describe("JSON output", () => {
  test("escapes hidden and control characters and keeps its value", () => {
    for (const character of hidden) {
      const value = { [character]: [`a${character}b`] };
      expect(outputJson(value)).toMatch(isVisible);
      expect(outputJson(value, 2).replaceAll("\n", "")).toMatch(isVisible);
      expect(JSON.parse(outputJson(value))).toEqual(value);
    }
    expect(outputJson({ text: "日本語 é ❤" })).toBe('{"text":"日本語 é ❤"}');
    expect(outputJson("\u009b31m\u{e0041}\u202e")).toBe('"\\u009b31m\\udb40\\udc41\\u202e"');
  });

  test("escapes any JSON value", () => {
    // Without a way back to its number, fast-check does not list all code points first.
    const any = fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code));
    const unit = fc.oneof(fc.constantFrom(...hidden), any);
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: unit }), fc.constantFrom(0, 2), (value, indent) => {
        const text = outputJson(value, indent);
        expect(text.replaceAll("\n", "")).toMatch(isVisible);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("the commands' JSON and screens contain no hidden character", () =>
    everyRow(["show", "tree", "context", "search", "compact --dry-run", "doctor", "goto"])(async (line) => {
      const [command = "", ...flags] = line.split(" ");
      const all = hidden.join("");
      const session = { ...header, cwd: `/tmp/${all}` };
      const file = join(testFolder(), "hidden\u009b\u202e.jsonl");
      const message = { role: "user", content: `Find ${all}`, timestamp: 1 };
      const place = { parentId: null, timestamp: "2026-11-20T09:00:00.000Z" };
      const lines = [
        session,
        { type: "message", id: "aaaa0001", ...place, message },
        { type: "session_info", id: "aaaa0002", ...place, parentId: "aaaa0001", name: `name ${all}` },
        { no: `entry ${all}` },
      ];
      writeFileSync(file, lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
      const more = command === "search" ? ["Find"] : command === "goto" ? ["\u009bnowhere\u202e"] : [];
      const args = [command, file, ...more];
      const { stdout, stderr } = await runCli([...args, ...flags, "--json"]);
      for (const text of [stdout, stderr].flatMap((each) => each.split("\n"))) {
        expect(text).toMatch(isVisible);
        if (text !== "") JSON.parse(text);
      }
      const human = await runCli([...args, ...flags], { columns: 70 });
      expect(`${human.stdout}${human.stderr}`.replaceAll("\n", "")).toMatch(isVisible);
    }));
});
