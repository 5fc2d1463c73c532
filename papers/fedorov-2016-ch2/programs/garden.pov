// Bushes of leaves on a chequered floor, in two lights, with a glass ball and a pond.
#version 3.7;
global_settings { assumed_gamma 1 max_trace_level 6 }
camera { location <0, 6, -16> look_at <0, 2, 0> }
light_source { <20, 30, -20> rgb 1 area_light <4, 0, 0>, <0, 0, 4>, 3, 3 adaptive 1 }
light_source { <-30, 20, -10> rgb 0.4 }
sky_sphere { pigment { gradient y color_map { [0 rgb <0.8, 0.9, 1>] [1 rgb <0.2, 0.4, 0.9>] } } }

#declare Random = seed(1);
#macro Leaf(Place)
  sphere { 0, 1
    scale <0.02 + 0.1 * rand(Random), 0.02, 0.02 + 0.1 * rand(Random)>
    rotate <rand(Random), rand(Random), rand(Random)> * 180
    translate Place
    pigment { rgb <0.2 * rand(Random), 0.4 + 0.4 * rand(Random), 0.1> }
    finish { specular 0.3 }
  }
#end

#declare Bush = 0;
#while (Bush < 12)
  #local Middle = <-9 + 18 * rand(Random), 2, -4 + 12 * rand(Random)>;
  #local Count = 0;
  #while (Count < 1500)
    #local Way = vrotate(<0, 0, 2 * pow(rand(Random), 0.3)>, <rand(Random), rand(Random), 0> * 360);
    Leaf(Middle + Way)
    #local Count = Count + 1;
  #end
  cylinder { <Middle.x, 0, Middle.z>, Middle, 0.15
    pigment { granite color_map { [0 rgb <0.3, 0.2, 0.1>] [1 rgb <0.6, 0.4, 0.2>] } } }
  #declare Bush = Bush + 1;
#end

plane { y, 0 pigment { checker rgb 0.9, rgb 0.3 } normal { bumps 0.2 scale 0.3 } finish { reflection 0.1 } }
sphere { <1, 1.5, -5>, 1.5
  pigment { rgbt <0.9, 0.95, 1, 0.9> } interior { ior 1.5 } finish { reflection 0.15 specular 0.8 } }
height_field { function 128, 128 { pattern { wrinkles scale 0.2 } }
  translate <-0.5, 0, -0.5> scale <40, 4, 10> translate <0, 0, 20>
  pigment { bozo color_map { [0 rgb <0.3, 0.5, 0.2>] [1 rgb <0.6, 0.6, 0.5>] } } }
