/** A QR code as one path of SVG. Dark on light in both colour schemes, as readers expect it. */
import { encode } from 'uqr';
import { useMemo, type ReactElement } from 'react';

/** Modules around the code. Source: ISO/IEC 18004, quiet zone. */
const QUIET = 4;

export function QrCode(props: { readonly text: string; readonly label: string }): ReactElement {
  const { size, path } = useMemo(() => {
    const code = encode(props.text, { ecc: 'M', border: QUIET });
    const squares = code.data.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
    );
    return { size: code.size, path: squares.join('') };
  }, [props.text]);
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={props.label}
    >
      <path d={`M0 0h${size}v${size}h-${size}z`} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}
