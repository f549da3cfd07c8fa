import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** What a list can be asked from outside. */
export interface ListControl {
  scrollTo(index: number): void;
}

export interface VirtualListProps {
  label: string;
  count: number;
  /** What an item is called for good, so that its height is known when others come before it. */
  keyOf: (index: number) => number;
  /** Pixels, before an item was measured. */
  estimate: (index: number) => number;
  render: (index: number) => ComponentChildren;
  /** Set while the list is there. */
  control?: { current: ListControl | null };
  /** Stays at the end when items are added there. */
  follows?: boolean;
  /** Called with the element after each change of what is drawn. */
  onDrawn?: (element: HTMLElement) => void;
}

/** So near its end a list counts as being there, in pixels. */
const END_PIXELS = 80;

/** A list of which only what can be seen is drawn. */
export function VirtualList(props: VirtualListProps) {
  const { label, count, keyOf, estimate, render, control, follows, onDrawn } = props;
  const scroller = useRef<HTMLDivElement>(null);
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
  list.setOptions(options);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());
  useEffect(() => {
    if (control === undefined) return;
    control.current = { scrollTo: (index) => list.scrollToIndex(index, { align: "start" }) };
    return () => {
      control.current = null;
    };
  }, [control, list]);
  useFollowing(list, scroller, count, follows === true);
  useEffect(() => {
    if (scroller.current !== null) onDrawn?.(scroller.current);
  });
  const items = list.getVirtualItems();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <div class="scroller" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <ol style={{ height: `${list.getTotalSize()}px` }}>
        {items.map(({ index, key, start }) => (
          <li
            key={key}
            data-index={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            ref={(element) => list.measureElement(element)}
            style={{ transform: `translateY(${start}px)` }}
          >
            {render(index)}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Who stands at the end of a list stays there when it grows. */
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
