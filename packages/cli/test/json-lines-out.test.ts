import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { JsonLinesOut } from "../src/modes/json-lines-out.ts";

/** A stream that is full from the first write on. */
class FullStream extends EventEmitter {
  text = "";
  write(text: string): boolean {
    this.text += text;
    return false;
  }
}

const waiting = (room: Promise<void>) => Promise.race([room.then(() => "room"), Promise.resolve("waits")]);

test("who writes much without waiting adds one listener, and all go on when there is room", async () => {
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

test("an interrupt lets go of whoever waits, and nobody waits from then on", async () => {
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
