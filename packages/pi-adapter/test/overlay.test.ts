import { expect, test } from "vitest";
import { overlay } from "../src/pi-extension.ts";

class Counter {
  #count = 0;
  readonly name = "counter";
  get count(): number {
    return this.#count;
  }
  add(): number {
    this.#count += 1;
    return this.#count;
  }
}

test("what is behind stays live, and its methods keep their this", () => {
  const counter = new Counter();
  const view = overlay(counter, { label: "more" });
  const { add } = view;
  expect([add(), view.add(), view.count, counter.count]).toEqual([1, 2, 2, 2]);
  expect([view.name, view.label]).toEqual(["counter", "more"]);
});

test("what is laid over goes first, also a getter", () => {
  let asked = 0;
  const view = overlay(
    { a: 1, b: 2 },
    {
      get a() {
        asked += 1;
        return 10 * asked;
      },
    },
  );
  expect([view.a, view.a, view.b]).toEqual([10, 20, 2]);
});

test("names are those of both, once, and a copy has them all", () => {
  const view = overlay({ a: 1, b: 2 }, { b: 3, c: 4 });
  expect({ ...view }).toEqual({ a: 1, b: 3, c: 4 });
  expect(Object.keys(view).sort()).toEqual(["a", "b", "c"]);
  expect(["a" in view, "c" in view, "d" in view]).toEqual([true, true, false]);
});

test("a frozen base can be laid over, and assigning leaves it alone", () => {
  const base = Object.freeze({ a: 1, f: () => "base" });
  const view = overlay(base, { f: () => "laid over" }) as { a: number; f(): string; z?: number };
  view.z = 5;
  expect([view.a, view.f(), view.z]).toEqual([1, "laid over", 5]);
  expect(base).not.toHaveProperty("z");
});
