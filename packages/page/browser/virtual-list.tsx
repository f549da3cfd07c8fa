import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** Control of a list from outside. */
export interface ListControl {
  /** Goes to an item and stays with it, while texts around it are read and grow, until somebody scrolls or opens something. */
  scrollTo(index: number): void;
  /** Stays with no item any more: a place inside it is scrolled to. */
  letGo(): void;
}

export interface VirtualListProps {
  label: string;
  count: number;
  /** Stable key of an item, so that its height stays known. */
  keyOf: (index: number) => number;
  /** Pixels, before an item was measured. */
  estimate: (index: number) => number;
  render: (index: number) => ComponentChildren;
  /** Set while the list is there. */
  control?: { current: ListControl | null };
  /** Stays at the end when items are added there. */
  follows?: boolean;
}

/** Pixels from the end within which a list counts as scrolled to its end. */
const END_PIXELS = 80;

/** A list that draws only its visible items. */
export function VirtualList(props: VirtualListProps) {
  const { label, count, keyOf, estimate, render, control, follows } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const measured = useRef(new Set<number>()).current;
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const held = useRef<Virtualizer<HTMLDivElement, HTMLElement> | null>(null);
  const options: VirtualizerOptions<HTMLDivElement, HTMLElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: estimate,
    getItemKey: keyOf,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: 6,
    onChange: () => redraw(undefined),
  };
  held.current ??= new Virtualizer(options);
  const list = held.current;
  // Items above the screen can grow without moving the screen; guessed items that reach into it can too.
  list.shouldAdjustScrollPositionOnItemSizeChange = ({ key, start, end }) =>
    end <= list.scrollOffset! || (!measured.has(key as number) && start < list.scrollOffset!);
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  const hold = useAnchor(list, scroller, keyOf);
  useEffect(() => {
    if (control === undefined) return;
    control.current = hold;
    return () => {
      control.current = null;
    };
  });
  useFollowing(list, scroller, count, follows === true);
  const items = list.getVirtualItems();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element needs the keyboard
    <div class="scroller" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <ol style={{ height: `${list.getTotalSize()}px` }}>
        {items.map(({ index, key, start }) => (
          <li
            key={key}
            data-index={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            ref={(element) => {
              list.measureElement(element);
              if (element !== null) measured.add(key as number);
            }}
            style={{ transform: `translateY(${start}px)` }}
          >
            {render(index)}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Calls a function when the reader scrolls or touches an element. Returns the end of it. */
export function onReaderMove(element: HTMLElement, moved: () => void): () => void {
  const ways = ["wheel", "touchstart", "pointerdown", "keydown"] as const;
  for (const way of ways) element.addEventListener(way, moved, { passive: true });
  return () => {
    for (const way of ways) element.removeEventListener(way, moved);
  };
}

/** The item that a list stays with. */
function useAnchor(
  list: Virtualizer<HTMLDivElement, HTMLElement>,
  scroller: { current: HTMLDivElement | null },
  keyOf: (index: number) => number,
): ListControl {
  const target = useRef<{ index: number; key: number } | null>(null);
  const letGo = () => {
    target.current = null;
  };
  useEffect(() => onReaderMove(scroller.current!, letGo), [scroller]);
  useLayoutEffect(() => {
    const { current: element } = scroller;
    if (target.current === null || element === null) return;
    const { index, key } = target.current;
    if (index >= list.options.count || keyOf(index) !== key) target.current = null;
    else if (element.querySelector(`:scope > ol > li[data-index="${index}"]`) !== null) {
      const [start] = list.getOffsetForIndex(index, "start") ?? [0];
      if (Math.abs(element.scrollTop - start) > 1) list.scrollToOffset(start);
    }
  });
  const scrollTo = (index: number) => {
    target.current = { index, key: keyOf(index) };
    list.scrollToIndex(index, { align: "start" });
    // In a short window the list itself may be off the screen.
    scroller.current?.scrollIntoView({ block: "nearest" });
  };
  return { scrollTo, letGo };
}

/** Keeps a list at its end while it grows. */
function useFollowing(
  list: Virtualizer<HTMLDivElement, HTMLElement>,
  scroller: { current: HTMLDivElement | null },
  count: number,
  follows: boolean,
): void {
  const known = useRef(count);
  const wasAtEnd = useRef(false);
  const element = scroller.current;
  if (element !== null && known.current === count)
    wasAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < END_PIXELS;
  useEffect(() => {
    if (follows && count > known.current && wasAtEnd.current) list.scrollToIndex(count - 1, { align: "end" });
    known.current = count;
  }, [count, follows, list]);
}
