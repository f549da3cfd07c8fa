import { EventEmitter } from "eventemitter3";
import type { RegisteredHandler } from "./handler.ts";

type Collect = (handler: RegisteredHandler) => void;

/** Owner of the handlers and of the sources' order. */
export class HandlerRegistry {
  readonly #emitter = new EventEmitter();
  readonly #rankOfSource = new Map<string, number>();
  readonly #undosOfSource = new Map<string, Set<() => void>>();
  #nextRank = 0;

  /** Gives a source its place in the order, unless it has one. */
  addSource(source: string): void {
    if (!this.#rankOfSource.has(source)) this.#rankOfSource.set(source, this.#nextRank++);
  }

  /** Takes out all handlers of a source, and its place in the order. */
  removeSource(source: string): void {
    for (const undo of [...(this.#undosOfSource.get(source) ?? [])]) undo();
    this.#undosOfSource.delete(source);
    this.#rankOfSource.delete(source);
  }

  /** Returns the undo of this one registration; the second call of it does nothing. */
  add(name: string, handler: RegisteredHandler): () => void {
    this.addSource(handler.source);
    const listener = (collect: Collect) => collect(handler);
    const undos = this.#undosOf(handler.source);
    const undo = () => {
      if (undos.delete(undo)) this.#emitter.off(name, listener);
    };
    undos.add(undo);
    this.#emitter.on(name, listener);
    return undo;
  }

  has(name: string): boolean {
    return this.#emitter.listenerCount(name) > 0;
  }

  /** A copy, by the order of sources, then of registration: changes during a call do not disturb it. */
  handlersOf(name: string): RegisteredHandler[] {
    const handlers: RegisteredHandler[] = [];
    this.#emitter.emit(name, (handler: RegisteredHandler) => handlers.push(handler));
    return handlers.sort((a, b) => this.#rank(a) - this.#rank(b));
  }

  #rank(handler: RegisteredHandler): number {
    return this.#rankOfSource.get(handler.source) ?? this.#nextRank;
  }

  #undosOf(source: string): Set<() => void> {
    const undos = this.#undosOfSource.get(source) ?? new Set();
    this.#undosOfSource.set(source, undos);
    return undos;
  }
}
