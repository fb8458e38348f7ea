import { RouterProvider } from '@tanstack/react-router';
import { mount } from './design/mount.tsx';
import { markSameAddresses } from './design/same-address.ts';
import { router } from './routes.tsx';

markSameAddresses();
mount('console', <RouterProvider router={router} />);
