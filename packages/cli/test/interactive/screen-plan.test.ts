import fc from "fast-check";
import { expect, test } from "vitest";
import type { Frame, ScreenChange } from "../../src/interactive/terminal/screen-plan.ts";
import { Paper, type Size, shell } from "./paper.ts";

type Step =
  | { do: "say" | "panel" | "unfold" | "lend" | "before" | "fewerRows"; count: number }
  | { do: "other"; from: number; to: number; count: number }
  | { do: "change"; at: number }
  | { do: "size"; size: Size }
  | { do: "width" };

/** A chat on a terminal: an editor of four lines below it, and between them a panel that is not kept. */
class Stage {
  chat: string[] = [];
  readonly paper: Paper;
  #panel = 0;
  #next = 0;

  constructor(rows: number) {
    this.paper = new Paper(rows);
    this.paper.show(this.frame, { kind: "begin" });
  }

  get frame(): Frame {
    const panel = Array.from({ length: this.#panel }, (_, at) => `panel ${at}`);
    return {
      lines: [...this.chat, ...panel, "above", "editor", "below", "footer"],
      kept: this.chat.length,
    };
  }

  do(step: Step): void {
    const change = this.#change(step);
    this.paper.show(this.frame, change);
  }

  #change(step: Step): ScreenChange {
    switch (step.do) {
      case "say":
        this.chat.push(...this.#said(step.count));
        return { kind: "more" };
      case "panel":
        this.#panel = step.count;
        return { kind: "more" };
      case "unfold":
        this.chat.splice(this.chat.length >> 1, 0, ...this.#said(step.count));
        return { kind: "other" };
      case "other":
        this.chat = [...this.chat.slice(step.from, step.to), ...this.#said(step.count)];
        return { kind: "other" };
      case "change":
        if (step.at < this.chat.length) this.chat[step.at] = `changed ${this.#next++}`;
        return { kind: "more" };
      case "size":
        return this.paper.resize(step.size);
      case "lend":
        this.chat.push(...this.#said(step.count));
        return this.paper.lend();
      case "fewerRows":
        return this.paper.resize(this.#fewer(step.count));
      case "width":
        return { kind: "size", pushed: 0, hasOtherColumns: true };
      case "before":
        this.chat.unshift(...this.#said(step.count));
        return { kind: "other" };
    }
  }

  /** At least as many as the editor has. */
  #fewer(count: number): Size {
    const { rows } = this.paper;
    const least = Math.min(rows, 4);
    return { rows: Math.max(least, rows - count), below: 2, takesBack: false, hasOtherColumns: false };
  }

  /** Each line is another, apart from blank ones between them. */
  #said(count: number): string[] {
    return Array.from({ length: count }, (_, at) => (at % 3 === 2 ? "" : `line ${this.#next++}`));
  }
}

const count = fc.nat(25);
const say = fc.record({ do: fc.constant("say" as const), count });
const panel = fc.record({ do: fc.constant("panel" as const), count });
const unfold = fc.record({ do: fc.constant("unfold" as const), count });
const change = fc.record({ do: fc.constant("change" as const), at: count });
const lend = fc.record({ do: fc.constant("lend" as const), count });
const fewerRows = fc.record({ do: fc.constant("fewerRows" as const), count: fc.nat(5) });
const width = fc.record({ do: fc.constant("width" as const) });
const size = fc.record({
  do: fc.constant("size" as const),
  size: fc.record({
    rows: fc.integer({ min: 1, max: 20 }),
    below: fc.nat(3),
    takesBack: fc.boolean(),
    hasOtherColumns: fc.boolean(),
  }),
});
/** Another branch from a line on, or the chat without its beginning. */
const other = fc
  .tuple(count, count, fc.boolean())
  .map(([at, added, isBranch]) =>
    isBranch
      ? { do: "other" as const, from: 0, to: at, count: added }
      : { do: "other" as const, from: at, to: 1_000, count: added },
  );

interface Taken {
  step: Step;
  former: { chat: string[]; scrollback: string[] };
}

function law(steps: readonly fc.Arbitrary<Step>[], look: (stage: Stage, taken: Taken) => void): void {
  const all = fc.array(fc.oneof(...steps), { maxLength: 25 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), all, (rows, taken) => {
      const stage = new Stage(rows);
      for (const step of taken) {
        const former = { chat: [...stage.chat], scrollback: stage.paper.scrollback };
        stage.do(step);
        look(stage, { step, former });
      }
    }),
  );
}

/** The first line that is not there behind those before it. */
function missing(lines: readonly string[], paper: readonly string[]): string | undefined {
  let at = 0;
  for (const line of lines) {
    at = paper.indexOf(line, at) + 1;
    if (at === 0) return line;
  }
  return undefined;
}

test("the screen shows the end of the frame, and never more than its rows", () => {
  law([say, panel, unfold, other, change, lend, size], ({ paper, frame }) => {
    const seen = frame.lines.slice(-paper.rows);
    expect(paper.screen.slice(-seen.length)).toEqual(seen);
    expect(paper.screen.length).toBeLessThanOrEqual(paper.rows);
  });
});

test("at one size, the scrollback has each chat line once and no panel", () => {
  law([say, panel], ({ paper, chat }) => {
    expect(paper.scrollback).toEqual([...shell, ...chat].slice(0, paper.base));
  });
});

test("at another width, the scrollback has each chat line once and no panel", () => {
  law([say, panel, width], ({ paper, chat }) => {
    expect(paper.scrollback).toEqual([...shell, ...chat].slice(0, paper.base));
  });
});

test("with ever fewer rows, the scrollback has each chat line once", () => {
  law([say, fewerRows], ({ paper, chat }) => {
    expect(paper.scrollback).toEqual([...shell, ...chat].slice(0, paper.base));
  });
});

test("lines above the screen never change", () => {
  law([say, panel, unfold, other, change, lend, size], ({ paper }, { step, former }) => {
    const kept = step.do === "size" && step.size.takesBack ? [] : former.scrollback;
    expect(paper.lines.slice(0, kept.length)).toEqual(kept);
  });
});

test("each chat line can be read in order, at every size and after another program", () => {
  law([say, panel, lend, size], ({ paper, chat }) => {
    expect(missing(chat, paper.lines)).toBeUndefined();
  });
});

test("each line of another chat, of unfolded and of earlier text can be read in order", () => {
  law([say, panel, unfold, other, lend, size], ({ paper, chat }, { former }) => {
    expect(missing(former.chat, paper.lines)).toBeUndefined();
    expect(missing(chat, paper.lines)).toBeUndefined();
  });
});

test("text before a chat that is still on the screen can be read above it", () => {
  const stage = new Stage(20);
  for (const step of ["say", "before", "say"] as const) stage.do({ do: step, count: 10 });
  expect(stage.paper.scrollback).toEqual([...shell, ...stage.chat].slice(0, stage.paper.base));
});
