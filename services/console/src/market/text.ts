/** English texts of the map; those of the page around it are in `../text.ts`. */
export const MAP = {
  legend: 'Active trips: the arc fills as the fare is paid',
  here: (requests: string, trips: string, allTrips: string): string =>
    `In view: ${requests}, ${trips} of ${allTrips}`,
  requests: (count: number): string => (count === 1 ? '1 open request' : `${count} open requests`),
  trips: (count: number): string => (count === 1 ? '1 active trip' : `${count} active trips`),
  /** why there are no streets, although tiles are set */
  ground: {
    away: (host: string): string =>
      `The map has outlines alone: ${host}, where its streets are, does not answer this page. Either it is away, or it allows no other page to ask (CORS).`,
    status: (status: number): string =>
      `The map has outlines alone: the file of its streets is answered with status ${status}.`,
    whole:
      'The map has outlines alone: the server of its streets sends whole files only (it knows no Range).',
    none: 'The map has outlines alone: the file of its streets is no PMTiles archive of vector tiles.',
    others:
      'The map has outlines alone: the file of its streets has none of the layers of Protomaps (earth, water, roads).',
  },
  states: {
    drawing: 'The map is being drawn. The lists have the same rides.',
    slow: (seconds: number): string =>
      `This browser has drawn no map within ${seconds} seconds. The lists have the same rides; the map appears here if it is drawn later.`,
    refused:
      'The browser refuses to draw the map (WebGL is not available now). The lists have the same rides. Load the page again to try once more.',
  },
} as const;
