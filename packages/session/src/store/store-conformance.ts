import assert from "node:assert/strict";
import { BonsaiError } from "@bonsai-agent/messages";
import { createSession, openSession } from "../open-session.ts";
import type { SessionStore } from "./store.ts";

/** How to get stores of the kind under test. */
export interface StoreFactory {
  /** A new store that holds the content. */
  create(content: string): SessionStore;
  /** A second store on what the first one holds, as another process would open it. */
  reopen(store: SessionStore): SessionStore;
}

/** One thing that every store must do. It throws when the store does not. */
export interface StoreCase {
  readonly name: string;
  run(): void;
}

/**
 * The acceptance suite of `SessionStore`, for any test runner:
 * `for (const { name, run } of sessionStoreCases(factory)) test(name, run)`.
 */
export function sessionStoreCases(factory: StoreFactory): StoreCase[] {
  return Object.entries(cases).map(([name, run]) => ({ name, run: () => run(factory) }));
}

const cases: Record<string, (factory: StoreFactory) => void> = {
  "starts with its content": (factory) => {
    const store = factory.create("abc");
    assert.equal(store.size(), 3);
    assert.equal(text(store), "abc");
  },
  "can be empty": (factory) => {
    const store = factory.create("");
    assert.equal(store.size(), 0);
    assert.equal(store.read(Buffer.alloc(4), 0), 0);
  },
  "reads any range, shorter only at the end": (factory) => {
    const store = factory.create("0123456789");
    const target = Buffer.alloc(4, "-");
    assert.equal(store.read(target, 3), 4);
    assert.equal(target.toString(), "3456");
    assert.equal(store.read(target, 8), 2);
    assert.equal(target.subarray(0, 2).toString(), "89");
    assert.equal(store.read(target, 10), 0);
    assert.equal(store.read(target, 99), 0);
  },
  "appends at the end and returns the number of bytes": (factory) => {
    const store = factory.create("a\n");
    assert.equal(store.append("b\n"), 2);
    assert.equal(store.append("ü€𝄞\n"), 10);
    assert.equal(text(store), "a\nb\nü€𝄞\n");
    assert.equal(store.size(), 14);
  },
  "writes a large append completely": (factory) => {
    const store = factory.create("");
    const line = `${"x".repeat(3 << 20)}\n`;
    assert.equal(store.append(line), line.length);
    assert.equal(store.size(), line.length);
    assert.equal(text(store), line);
  },
  "sees appends of another store on the same session immediately": (factory) => {
    const first = factory.create("a\n");
    const second = factory.reopen(first);
    second.append("b\n");
    first.append("c\n");
    assert.equal(text(first), "a\nb\nc\n");
    assert.equal(text(second), "a\nb\nc\n");
  },
  "keeps flushed data for later readers": (factory) => {
    const store = factory.create("a\n");
    store.append("b\n");
    store.flush();
    assert.equal(text(factory.reopen(store)), "a\nb\n");
  },
  "can be closed twice": (factory) => {
    const store = factory.create("a");
    store.close();
    store.close();
  },
  "stores a session with branches, a moved leaf and a reopening": (factory) => {
    const session = createSession({ store: factory.create(""), cwd: "/" });
    const said = (content: string) =>
      session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
    const [one, two] = [said("one"), said("two")];
    session.moveTo(one.id);
    assert.deepEqual(
      session.path().map(({ id }) => id),
      [one.id],
    );
    const again = openSession({ store: factory.reopen(session.store) });
    assert.equal(again.leafId, one.id);
    assert.deepEqual(again.entry(two.id), two);
    assert.deepEqual(again.projection(), session.projection());
  },
  "rejects a file that is not a session with an error code": (factory) => {
    assert.throws(() => openSession({ store: factory.create("") }), BonsaiError.is);
  },
};

function text(store: SessionStore): string {
  const bytes = Buffer.alloc(store.size());
  assert.equal(store.read(bytes, 0), bytes.length);
  return bytes.toString();
}
