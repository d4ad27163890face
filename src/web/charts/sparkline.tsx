/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A row of small bars: numbers of a time, without axes. The numbers stand beside it as text.
 *
 * @module
 */
const WIDTH = 96;
const HEIGHT = 24;

/** Bars relative to the highest one. A number above 0 is at least 2 pixels high. */
export function Sparkline({ values, color }: { values: readonly number[]; color: number }) {
  const most = Math.max(1, ...values);
  const width = WIDTH / values.length;
  return (
    <svg
      class={`sparkline s${color}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
    >
      <rect class="track" y={HEIGHT - 1} width={WIDTH} height="1" />
      {values.map((value, i) => {
        const height = value <= 0 ? 0 : Math.max(2, Math.round(HEIGHT * value / most));
        return height > 0 && (
          <rect
            class="fill"
            x={Number((i * width).toFixed(2))}
            y={HEIGHT - height}
            width={Number(Math.max(1, width - 1).toFixed(2))}
            height={height}
          />
        );
      })}
    </svg>
  );
}
