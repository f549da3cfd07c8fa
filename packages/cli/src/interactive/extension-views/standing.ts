import type { DrawnComponent } from "@bonsai-agent/extension";
import { type Component, Container } from "../terminal/tui.ts";
import { ViewSlot } from "./view-slot.ts";

export interface StandingOptions {
  place: Container;
  /** Of the component. */
  mostLines: number;
  redraw: () => void;
}

/** A component of an extension in the place of what stands in a part of the screen, and what stood there before. */
export class Standing {
  readonly #place: Container;
  readonly #mostLines: number;
  readonly #redraw: () => void;
  #before: readonly Component[] | undefined;
  #slot: ViewSlot | undefined;

  constructor({ place, mostLines, redraw }: StandingOptions) {
    this.#place = place;
    this.#mostLines = mostLines;
    this.#redraw = redraw;
  }

  /** Undefined brings back what stood there. */
  stand(drawn: DrawnComponent | undefined): void {
    this.#slot?.dispose();
    this.#before ??= [...this.#place.children];
    this.#place.clear();
    const instead = new Container();
    const place = drawn === undefined ? this.#place : instead;
    for (const each of this.#before) place.addChild(each);
    this.#slot = drawn && new ViewSlot({ drawn, mostLines: this.#mostLines, redraw: this.#redraw, instead });
    if (this.#slot === undefined) this.#before = undefined;
    else this.#place.addChild(this.#slot);
    this.#redraw();
  }
}
