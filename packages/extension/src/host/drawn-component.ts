import type { Component, Theme } from "../api/drawing.ts";
import { badArgument } from "./extension-errors.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";

/** A component of an extension as a front end calls it: never throws. */
export interface DrawnComponent {
  /** Undefined once it has failed, and once its extension is unloaded. */
  render(width: number): string[] | undefined;
  handleInput(data: string): void;
  invalidate(): void;
  dispose(): void;
  /** Whether the keys go to it. */
  focused: boolean;
  /** Whether it wants keys that are let go, too. */
  readonly wantsKeyRelease: boolean;
  /** As the extension made it. */
  readonly component: Component;
}

interface DrawnComponentOptions {
  scope: ExtensionScope;
  /** What made it, as its author calls it. */
  call: string;
  /** Called once. */
  onFailure: (error: unknown) => void;
}

/** @throws BonsaiError `extension_argument_invalid` for what is no component */
export function drawnComponent(made: unknown, options: DrawnComponentOptions): DrawnComponent {
  if (typeof (made as Component | undefined)?.render !== "function")
    throw badArgument(options.scope, options.call, "a component, an object with render(width)", made);
  return new Drawn(made as Component, options);
}

class Drawn implements DrawnComponent {
  readonly component: Component & { focused?: boolean; wantsKeyRelease?: boolean };
  readonly #options: DrawnComponentOptions;
  #hasFailed = false;

  constructor(component: Component, options: DrawnComponentOptions) {
    this.component = component;
    this.#options = options;
  }

  render(width: number): string[] | undefined {
    return this.#safely(() => linesOf(this.component.render(width)));
  }

  handleInput(data: string): void {
    const returned: unknown = this.#safely(() => this.component.handleInput?.(data));
    if (returned instanceof Promise) returned.catch((error: unknown) => this.#fail(error));
  }

  invalidate(): void {
    this.#safely(() => this.component.invalidate?.());
  }

  dispose(): void {
    this.#safely(() => this.component.dispose?.());
  }

  get focused(): boolean {
    return this.component.focused === true;
  }

  set focused(isFocused: boolean) {
    if ("focused" in this.component) this.#safely(() => (this.component.focused = isFocused));
  }

  get wantsKeyRelease(): boolean {
    return this.component.wantsKeyRelease === true;
  }

  #safely<Result>(work: () => Result): Result | undefined {
    const { scope } = this.#options;
    if (this.#hasFailed || scope.isUnloaded) return undefined;
    try {
      return runOf(scope, work);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.onFailure(error);
  }
}

/** Types alone do not keep JavaScript from giving something else. */
function linesOf(rendered: unknown): string[] {
  if (!Array.isArray(rendered)) throw new TypeError(`render gave ${typeof rendered}, and no list of lines`);
  const strange: unknown = rendered.find((line) => typeof line !== "string");
  if (strange !== undefined) throw new TypeError(`render gave a line that is ${typeof strange}, and no text`);
  return rendered;
}

const same = (text: string) => text;

/** Where nothing is drawn, texts stay as they are. */
export const plainTheme: Theme = {
  fg: (_color, text) => text,
  bg: (_color, text) => text,
  bold: same,
  italic: same,
  underline: same,
  inverse: same,
  strikethrough: same,
};
