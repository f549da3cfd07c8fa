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
export function drawnComponent(
  made: unknown,
  { scope, call, onFailure }: DrawnComponentOptions,
): DrawnComponent {
  if (typeof (made as Component | undefined)?.render !== "function")
    throw badArgument(scope, call, "a component, an object with render(width)", made);
  const component = made as Component & { focused?: boolean; wantsKeyRelease?: boolean };
  let hasFailed = false;
  const fail = (error: unknown) => {
    if (hasFailed) return;
    hasFailed = true;
    onFailure(error);
  };
  const safely = <Result>(work: () => Result): Result | undefined => {
    if (hasFailed || scope.isUnloaded) return undefined;
    try {
      return runOf(scope, work);
    } catch (error) {
      fail(error);
      return undefined;
    }
  };
  return {
    component,
    render: (width) => safely(() => linesOf(component.render(width))),
    handleInput(data) {
      const returned: unknown = safely(() => component.handleInput?.(data));
      if (returned instanceof Promise) returned.catch(fail);
    },
    invalidate: () => safely(() => component.invalidate?.()),
    dispose: () => safely(() => component.dispose?.()),
    get focused() {
      return component.focused === true;
    },
    set focused(isFocused) {
      if ("focused" in component) safely(() => (component.focused = isFocused));
    },
    get wantsKeyRelease() {
      return component.wantsKeyRelease === true;
    },
  };
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
